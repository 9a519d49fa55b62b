%% Links, monitors and aliases. Both ends of a link or monitor have their own record of it, so that between
%% nodes they may differ while a signal is in transit.
-module(raddle_watch).
-export([order/2, link/2, unlink/2, link_both/3, add_link/3, link_arrives/3, monitor/4, monitor_new/3, monitor_known/5, monitor_arrives/4, demonitor/3,
         demonitor_arrives/3, down_arrives/5, away/2, forget/2, lost/3, alias/2, unalias/2]).
-compile({no_auto_import, [link/1, unlink/1, monitor/3, demonitor/2, alias/1, unalias/1]}).
-include("raddle_run.hrl").

%% ---- links

%% Linked and monitoring processes are notified of an end in the order in which they began. Only a search
%% needs this object.
order(#me{searches = false}, _) -> ?NONE;
order(Me, Pid) -> ?WRITES(raddle_table:object(Me, {watchers, Pid})).

%% The link between the running process and another one, which either of them can create or remove. Only a
%% search needs this object.
between(#me{searches = false}, _, _) -> ?NONE;
between(#me{pid = Pid} = Me, Other, Touch) -> Touch(raddle_table:object(Me, {link, min(Pid, Other), max(Pid, Other)})).

link_both(_, Pid, Pid) -> ok;
link_both(Table, Pid, Other) -> add(Table, {links, Pid}, Other), add(Table, {links, Other}, Pid).

add_link(Table, Pid, Other) -> add(Table, {links, Pid}, Other).

add(Table, Key, Entry) ->
    List = raddle_table:list(Table, Key),
    lists:member(Entry, List) orelse ets:insert(Table, {list, Key, [Entry | List]}).

link(To, Location) when is_pid(To) ->
    #me{table = Table, pid = Pid, node = Node} = Me = raddle_turn:me(),
    case {erlang:node(To), raddle_table:objects(Table, To)} of
        {Node, {_, Life}} -> raddle_turn:step(Me, ?READ, Location, ?READS(Life), order(Me, To), between(Me, To, fun(Link) -> ?READS(Link) end));
        _ ->
            {Kind, First, Second} = raddle_signal:address(Me, Node, To),
            raddle_turn:step(Me, Kind, Location, First, Second)
    end,
    case {erlang:node(To), raddle_table:process(Table, To)} of
        {Node, none} -> link_to_nobody(Me, To, Location);
        {Node, _} -> link_both(Table, Pid, To);
        {_, _} ->
            add(Table, {links, Pid}, To),
            raddle_signal:send(Me, Node, To, {link, Pid, To})
    end,
    true;
link(_, _) -> erlang:error(badarg).

link_to_nobody(#me{table = Table, pid = Pid, mailbox = Mailbox} = Me, To, Location) ->
    case raddle_table:process(Table, Pid) of
        #process{trap = true} ->
            raddle_turn:step(Me, ?SEND, Location, ?WRITES(Mailbox)),
            raddle_signal:post(Me, Pid, {'EXIT', To, noproc});
        #process{} -> erlang:error(noproc)
    end.

link_arrives(#me{table = Table} = Me, From, To) ->
    case raddle_table:process(Table, To) of
        none -> raddle_signal:send(Me, erlang:node(To), From, {linked, To, From, noproc});
        _ -> add(Table, {links, To}, From)
    end.

unlink(To, Location) when is_pid(To) ->
    #me{table = Table, pid = Pid, node = Node, life = Life} = Me = raddle_turn:me(),
    case erlang:node(To) of
        Node ->
            raddle_turn:step(Me, ?READ, Location, ?READS(Life), life(Table, To), between(Me, To, fun(Link) -> ?WRITES(Link) end)),
            remove(Table, {links, To}, Pid);
        _ ->
            {Kind, First, _} = raddle_signal:address(Me, Node, To),
            raddle_turn:step(Me, Kind, Location, First, ?READS(Life)),
            raddle_signal:send(Me, Node, To, {unlink, Pid, To})
    end,
    remove(Table, {links, Pid}, To),
    true;
unlink(_, _) -> erlang:error(badarg).

life(Table, Pid) ->
    case raddle_table:process(Table, Pid) of
        #process{life = Life} -> ?READS(Life);
        none -> ?NONE
    end.

remove(Table, Key, Entry) -> raddle_table:put_list(Table, Key, lists:delete(Entry, raddle_table:list(Table, Key))).

%% ---- monitors

monitor(process, Target, Options, Location) ->
    #me{node = Node} = Me = raddle_turn:me(),
    Object = watched(Target, Node),
    {Kind, First, Second} = Looks = looks(Me, Object),
    Third = case Object of
                {Name, Node} -> case raddle_name:owner(Me, Name, Node) of undefined -> ?NONE; Owner -> order(Me, Owner) end;
                _ -> ?NONE
            end,
    raddle_turn:step(Me, Kind, Location, First, case Second of ?NONE when First div 2 =/= Me#me.life -> ?READS(Me#me.life); _ -> Second end, Third),
    Same = looks(Me, Object) =:= Looks,
    case is_there(Me, Object) of
        _ when not Same -> monitor(process, Target, Options, Location); % The name has another owner by now, so that was only a lookup.
        true -> monitor_new(Me, Object, Options);
        false ->
            %% The message that the process does not exist is a separate operation, even if it exists by then.
            is_list(Options) orelse erlang:error(badarg),
            raddle_turn:step(Me, ?SEND, Location, ?WRITES(Me#me.mailbox)),
            Reference = raddle_table:reference(Me),
            monitor_known(Me, Reference, Me#me.pid, Object, Options),
            down_arrives(Me, Reference, Me#me.pid, Object, noproc),
            Reference
    end;
monitor(time_offset, clock_service, _, _) -> raddle_table:reference(raddle_turn:me());
monitor(Sort, Target, _, Location) when Sort =:= port; Sort =:= time_offset ->
    raddle_turn:refuse({erlang, monitor, 2}, [Sort, Target], Location);
monitor(_, _, _, _) -> erlang:error(badarg).

is_there(#me{node = Node} = Me, {Name, Node}) ->
    case raddle_name:owner(Me, Name, Node) of
        undefined -> false;
        Pid -> is_there(Me, Pid)
    end;
is_there(#me{table = Table, node = Node}, Pid) when erlang:node(Pid) =:= Node ->
    case raddle_table:process(Table, Pid) of
        #process{state = alive} -> true;
        _ -> false
    end;
is_there(_, _) -> true.

watched(Pid, _) when is_pid(Pid) -> Pid;
watched(Name, Node) when is_atom(Name) -> {Name, Node};
watched({Name, Node}, _) when is_atom(Name), is_atom(Node) -> {Name, Node};
watched(_, _) -> erlang:error(badarg).

looks(#me{table = Table, node = Node} = Me, Pid) when erlang:node(Pid) =:= Node ->
    case raddle_table:objects(Table, Pid) of
        {_, Life} -> {?READ, ?READS(Life), order(Me, Pid)};
        none -> {?YIELD, ?NONE, ?NONE}
    end;
looks(#me{node = Node} = Me, {Name, Node}) ->
    Object = ?READS(raddle_table:object(Me, {name, Node, Name})),
    case raddle_name:owner(Me, Name, Node) of
        undefined -> {?READ, Object, ?NONE};
        Pid -> {Kind, First, _} = looks(Me, Pid), {Kind, First, Object}
    end;
looks(#me{node = Node} = Me, Other) -> raddle_signal:address(Me, Node, Other).

%% Sets up a monitor of the running process as part of its latest operation.
monitor_new(#me{pid = Pid, node = Node} = Me, Object, Options) ->
    is_list(Options) orelse erlang:error(badarg),
    Reference = raddle_table:reference(Me),
    monitor_known(Me, Reference, Pid, Object, Options),
    raddle_signal:send(Me, Node, Object, {monitor, Reference, Pid, Object}),
    Reference.

%% Records one end of a monitor, whose other end exists or will.
monitor_known(#me{table = Table}, Reference, Pid, Object, Options) ->
    ets:insert(Table, {monitor, {monitor, Reference}, Pid, Object, proplists:get_value(tag, Options, 'DOWN')}),
    case lists:keyfind(alias, 1, Options) of
        {alias, Mode} -> add_alias(Table, Reference, Pid, Mode);
        false -> ok
    end.

monitor_arrives(#me{table = Table} = Me, Reference, From, Object) ->
    {Pid, Node} = case Object of
                      {Name, At} -> {raddle_name:owner(Me, Name, At), At};
                      _ -> {Object, erlang:node(Object)}
                  end,
    case Pid =/= undefined andalso raddle_table:process(Table, Pid) of
        #process{state = alive} ->
            ets:insert(Table, {target, {target, Reference}, Pid}),
            Watchers = raddle_table:list(Table, {watchers, Pid}),
            ets:insert(Table, {list, {watchers, Pid}, [{Reference, From, Object} | Watchers]});
        _ -> raddle_signal:send(Me, Node, From, {down, Reference, From, Object, noproc})
    end.

%% A monitor that its owner has removed has no effect.
down_arrives(#me{table = Table} = Me, Reference, To, Object, Reason) ->
    case ets:take(Table, {monitor, Reference}) of
        [{_, _, To, _, Tag}] ->
            ets:delete(Table, {target, Reference}),
            drop_alias(Table, Reference),
            raddle_signal:post(Me, To, {Tag, Reference, process, Object, Reason});
        [] -> ok
    end.

drop_alias(Table, Reference) ->
    case ets:lookup(Table, {alias, Reference}) of
        [{_, _, _, Mode}] when Mode =/= explicit_unalias -> ets:delete(Table, {alias, Reference});
        _ -> ok
    end.

%% Handles the reply to an alias: neither the alias nor its monitor is needed.
forget(#me{table = Table} = Me, Reference) ->
    ets:delete(Table, {alias, Reference}),
    give_up(Me, Reference).

give_up(#me{table = Table} = Me, Reference) ->
    case ets:take(Table, {monitor, Reference}) of
        [{_, _, Owner, Object, _}] ->
            raddle_signal:send(Me, erlang:node(Owner), Object, {demonitor, Reference, Object}),
            true;
        [] -> false
    end.

demonitor_arrives(#me{table = Table}, Reference, _) ->
    case ets:take(Table, {target, Reference}) of
        [{_, _, Pid}] ->
            Watchers = raddle_table:list(Table, {watchers, Pid}),
            raddle_table:put_list(Table, {watchers, Pid}, lists:keydelete(Reference, 1, Watchers));
        [] -> ok
    end.

demonitor(Reference, Options, Location) when is_reference(Reference) ->
    #me{table = Table, pid = Pid, mailbox = Mailbox} = Me = raddle_turn:me(),
    lists:all(fun(Option) -> Option =:= flush orelse Option =:= info end, Options) orelse erlang:error(badarg),
    case ets:lookup(Table, {monitor, Reference}) of
        [{_, _, Other, _, _}] when Other =/= Pid -> erlang:error(badarg);
        [_] -> raddle_turn:step(Me, ?READ, Location, ?READS(Mailbox), away(Me, Reference));
        [] -> raddle_turn:known(Me, Location, ?READS(Mailbox))
    end,
    Active = give_up(Me, Reference),
    drop_alias(Table, Reference),
    lists:member(flush, Options) andalso not Active andalso raddle_mailbox:flush(Reference),
    Active orelse not lists:member(info, Options);
demonitor(_, _, _) -> erlang:error(badarg).

%% Returns the life of the unmonitored process, or the delivery to its node.
away(#me{table = Table, node = Node} = Me, Reference) ->
    case ets:lookup(Table, {monitor, Reference}) of
        [{_, _, _, Object, _}] ->
            Other = case Object of {_, At} -> At; _ -> erlang:node(Object) end,
            case Other of
                Node when is_pid(Object) -> life(Table, Object);
                Node -> life(Table, raddle_table:find(Table, {target, Reference}, none));
                _ -> element(2, raddle_signal:address(Me, Node, Object))
            end;
        [] -> ?NONE
    end.

%% ---- lost connections

%% Returns the messages for processes of Node that are linked to or monitor processes of Other, after the
%% connection is lost, each with its receiver. Watchers on Other get no more messages.
lost(#me{table = Table}, Node, Other) ->
    Links = [{Pid, {linked, To, Pid, noconnection}} || {list, {links, Pid}, List} <- ets:match_object(Table, {list, {links, '_'}, '_'}),
                                                       erlang:node(Pid) =:= Node, To <- List, erlang:node(To) =:= Other],
    Monitors = [{Pid, {down, Reference, Pid, Object, noconnection}}
                || {monitor, {monitor, Reference}, Pid, Object, _} <- ets:match_object(Table, {monitor, '_', '_', '_', '_'}),
                   erlang:node(Pid) =:= Node, at(Object) =:= Other],
    [begin
         Gone = [Reference || {Reference, From, _} <- Watchers, erlang:node(From) =:= Other],
         [ets:delete(Table, {target, Reference}) || Reference <- Gone],
         Gone =:= [] orelse
             raddle_table:put_list(Table, Key, [Watcher || Watcher <- Watchers, not lists:member(element(1, Watcher), Gone)])
     end || {list, {watchers, Pid} = Key, Watchers} <- ets:match_object(Table, {list, {watchers, '_'}, '_'}), erlang:node(Pid) =:= Node],
    lists:sort(Links) ++ lists:sort(Monitors).

at({_, Node}) -> Node;
at(Pid) -> erlang:node(Pid).

%% ---- aliases

alias(Options, _) ->
    #me{table = Table, pid = Pid} = Me = raddle_turn:me(),
    Mode = case Options of
               [] -> explicit_unalias;
               [explicit_unalias] -> explicit_unalias;
               [reply] -> reply_demonitor;
               _ -> erlang:error(badarg)
           end,
    Reference = raddle_table:reference(Me),
    add_alias(Table, Reference, Pid, Mode),
    Reference.

%% The owner of an alias is still known after it was deactivated.
add_alias(Table, Reference, Pid, Mode) ->
    ets:insert(Table, [{alias, {alias, Reference}, Pid, Mode}, {alias_owner, {alias_owner, Reference}, Pid}]).

unalias(Reference, Location) when is_reference(Reference) ->
    #me{table = Table, pid = Pid, mailbox = Mailbox} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?READS(Mailbox)),
    case ets:lookup(Table, {alias, Reference}) of
        [{_, _, Pid, _}] -> ets:delete(Table, {alias, Reference});
        [_] -> erlang:error(badarg);
        [] -> false
    end;
unalias(_, _) -> erlang:error(badarg).
