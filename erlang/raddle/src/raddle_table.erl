%% The state of a run, in one table of the host: every row has its key at position 2, and none outlives the
%% run.
-module(raddle_table).
-export([new/1, process/2, objects/2, list/2, sorted/1, put_list/3, find/3, object/2, lasting/2, count/2, pid/2, reference/1]).
-include("raddle_run.hrl").

new(Controller) ->
    Table = ets:new(raddle_run, [public, set, {keypos, 2}]),
    ets:insert(Table, {controller, controller, Controller}),
    Table.

%% Returns the process with this pid, or none if it has ended.
process(Table, Pid) ->
    case ets:lookup(Table, Pid) of
        [Process] -> Process;
        [] -> none
    end.

%% Returns the mailbox and the life of a process, even of one that has ended: operations on it then have no
%% effect, but would have had one before.
objects(Table, Pid) ->
    case ets:lookup(Table, Pid) of
        [#process{mailbox = Mailbox, life = Life}] -> {Mailbox, Life};
        [] ->
            case ets:lookup(Table, {grave, Pid}) of
                [{_, _, Mailbox, Life}] -> {Mailbox, Life};
                [] -> none
            end
    end.

%% Returns the third element of the row under a key.
find(Table, Key, Otherwise) ->
    case ets:lookup(Table, Key) of
        [Row] -> element(3, Row);
        [] -> Otherwise
    end.

list(Table, Key) -> find(Table, Key, []).

%% Sorts terms with 1 before 1.0: the host's order must not matter. A map distinguishes the two as keys.
sorted(Terms) -> [Term || {Term, _} <- lists:sort([{Term, #{Term => []}} || Term <- Terms])].

put_list(Table, Key, []) -> ets:delete(Table, Key);
put_list(Table, Key, List) -> ets:insert(Table, {list, Key, List}).

%% Returns the engine's object for a term. The same term has the same object throughout the run, and the same
%% name in all runs.
object(#me{session = Session, table = Table} = Me, Term) ->
    case ets:lookup(Table, {object, Term}) of
        [{_, _, Object}] -> Object;
        [] ->
            Lasting = lasting(Me, Term),
            Name = erlang:phash2(Lasting, 1 bsl 32) bsl 32 + erlang:phash2([Lasting], 1 bsl 32),
            Object = raddle_nif:add_object(Session, Name),
            ets:insert(Table, {object, {object, Term}, Object}),
            Object
    end.

%% Returns a term with stable names instead of pids and references, whose numbers depend on the schedule: the
%% name of the actor, and the number of references it had created.
lasting(#me{session = Session, table = Table}, Pid) when is_pid(Pid) ->
    case ets:match(Table, {pid_of, {pid_of, '$1'}, Pid}) of
        [[Actor]] -> {pid, raddle_nif:actor_name(Session, Actor)};
        [] -> Pid
    end;
lasting(#me{session = Session, table = Table}, Reference) when is_reference(Reference) ->
    Bytes = term_to_binary(Reference),
    case lists:member(erlang:node(Reference), find(Table, nodes, [])) andalso binary:part(Bytes, byte_size(Bytes), -12) of
        <<Low:32, Maker:32, High:32>> when Maker > 0 -> {reference, raddle_nif:actor_name(Session, Maker - 1), High, Low};
        _ -> Reference
    end;
lasting(Me, [Head | Tail]) -> [lasting(Me, Head) | lasting(Me, Tail)];
lasting(Me, Tuple) when is_tuple(Tuple) -> list_to_tuple(lasting(Me, tuple_to_list(Tuple)));
lasting(Me, Map) when is_map(Map) -> lasting(Me, lists:sort(maps:to_list(Map)));
lasting(_, Term) -> Term.

count(Table, What) -> ets:update_counter(Table, {count, What}, {3, 1}, {count, {count, What}, 0}).

%% Returns a pid of a virtual node. For the host it is a pid of another VM, so no message can reach it by
%% accident.
pid(Node, Number) ->
    Name = atom_to_binary(Node, utf8),
    binary_to_term(<<131, 88, 119, (byte_size(Name)), Name/binary, Number:32, 0:32, 1:32>>).

%% Returns a reference that depends only on the requesting process and the number of its requests.
reference(#me{node = Node, actor = Actor}) ->
    Number = case erlang:get('$raddle_refs') of undefined -> 1; Last -> Last + 1 end,
    erlang:put('$raddle_refs', Number),
    Name = atom_to_binary(Node, utf8),
    binary_to_term(<<131, 90, 3:16, 119, (byte_size(Name)), Name/binary, 1:32,
                     (Number band 16#3ffff):32, (Actor + 1):32, (Number bsr 18):32>>).
