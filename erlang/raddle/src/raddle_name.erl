%% Registered names, separate for each virtual node.
-module(raddle_name).
-export([owner/3, register/3, unregister/2, whereis/2, registered/1, owner_died/2]).
-compile({no_auto_import, [register/2, unregister/1, whereis/1, registered/0]}).
-include("raddle_run.hrl").

owner(#me{table = Table}, Name, Node) -> raddle_table:find(Table, {name, Node, Name}, undefined).

touch(#me{node = Node} = Me, Name) -> raddle_table:object(Me, {name, Node, Name}).

register(Name, Pid, Location) when is_atom(Name), is_pid(Pid), Name =/= undefined ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(touch(Me, Name)), life(Table, Pid), names(Me)),
    Free = owner(Me, Name, Node) =:= undefined andalso not ets:member(Table, {name_of, Pid}),
    case raddle_table:process(Table, Pid) of
        #process{state = alive} when Free, erlang:node(Pid) =:= Node ->
            ets:insert(Table, [{name, {name, Node, Name}, Pid}, {name_of, {name_of, Pid}, Name}, {called, {called, Pid}, Name}]);
        _ -> erlang:error(badarg)
    end;
register(_, _, _) -> erlang:error(badarg).

unregister(Name, Location) when is_atom(Name) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    Owner = owner(Me, Name, Node),
    raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(touch(Me, Name)), life(Table, Owner), names(Me)),
    case owner(Me, Name, Node) of
        undefined -> erlang:error(badarg);
        Owner ->
            ets:delete(Table, {name, Node, Name}),
            ets:delete(Table, {name_of, Owner});
        _ -> unregister(Name, Location) % It has another owner by now, so that was only a lookup of the name.
    end;
unregister(_, _) -> erlang:error(badarg).

%% The name of a process is part of its life.
life(Table, Pid) ->
    case raddle_table:objects(Table, Pid) of
        {_, Life} -> ?WRITES(Life);
        none -> ?NONE
    end.

names(Me) -> ?READS(raddle_turn:roll(Me, names)).

whereis(Name, Location) when is_atom(Name) ->
    #me{node = Node} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?READS(touch(Me, Name))),
    owner(Me, Name, Node);
whereis(_, _) -> erlang:error(badarg).

%% Returns all names of the node.
registered(Location) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?WRITES(raddle_turn:roll(Me, names))),
    lists:sort([Name || [Name] <- ets:match(Table, {name, {name, Node, '$1'}, '_'})]).

owner_died(#me{table = Table}, Pid) ->
    case ets:take(Table, {name_of, Pid}) of
        [{_, _, Name}] -> ets:delete(Table, {name, erlang:node(Pid), Name});
        [] -> ok
    end.
