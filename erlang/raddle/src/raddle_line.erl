%% The lines between nodes. Each has one ordered queue in each direction and an actor that empties it; every
%% delivery is an operation.
%%
%% A line is connected, idle (the first signal connects it), cut, or gone (one of its nodes is down). The
%% state changes at once; a node observes the change by a mark in the queue that leads to it, and until then
%% its messages are lost. Messages in transit when a line breaks may arrive or not: a separate actor drops
%% those that have not arrived at its turn.
-module(raddle_line).
-export([carrier/3, give/4, connect/3, carry/5, arrival/2, arrive/2, lose/5, drop/4, notify/5, set/4, state/3, is_up/3, connection/3, both/3, forget/2]).
-include("raddle_run.hrl").

%% ---- the state of a line

key(From, To) when From < To -> {line, From, To};
key(From, To) -> {line, To, From}.

%% Returns {connected, Epoch}, idle, cut or gone. A node that is not in the run is gone.
state(Table, From, To) ->
    case raddle_table:find(Table, key(From, To), none) of
        none ->
            Nodes = raddle_table:find(Table, nodes, []),
            case lists:member(From, Nodes) andalso lists:member(To, Nodes) of
                true -> {connected, 0};
                false -> gone
            end;
        State -> State
    end.

set(Table, From, To, State) -> ets:insert(Table, {line, key(From, To), State}).

%% Returns the connection to To that From knows: its epoch, or down.
epoch_of(Table, From, To) -> raddle_table:find(Table, {view, From, To}, 0).

%% Returns true if From considers To connected.
is_up(Table, From, To) ->
    epoch_of(Table, From, To) =/= down andalso lists:member(To, raddle_table:find(Table, nodes, [])).

%% Returns the current or last connection of Node to Other.
connection(Table, Node, Other) -> raddle_table:find(Table, {connection, Node, Other}, 0).

%% Returns the touches of an operation that changes a line: everything sent on it depends on that.
both(Me, From, To) ->
    {?WRITES(element(2, carrier(Me, From, To))), ?WRITES(element(2, carrier(Me, To, From)))}.

carrier(#me{session = Session, table = Table, actor = Actor}, From, To) ->
    case raddle_table:find(Table, {carrier, From, To}, none) of
        none ->
            {Carrier, _} = New = raddle_nif:add_carrier(Session, max(Actor, 0), ?AT_CARRIER),
            ets:insert(Table, [{carrier, {carrier, From, To}, New},
                               {actor, {actor, Carrier}, {carrier, From, To, idle}}]),
            New;
        Known -> Known
    end.

%% ---- sending

%% Sends a signal, as part of the latest operation.
give(#me{table = Table} = Me, From, To, Signal) ->
    View = epoch_of(Table, From, To),
    case state(Table, From, To) of
        {connected, Epoch} when View =:= Epoch; View =:= down -> enqueue(Me, From, To, Signal);
        idle when View =:= down ->
            case connects(Signal) of
                true ->
                    connect(Me, From, To),
                    enqueue(Me, From, To, Signal);
                false -> ok
            end;
        gone when View =/= down -> lost_or_unknown(Me, From, To, Signal);
        _ when View =:= down -> unreachable(Me, From, To, Signal);
        _ -> ok
    end.

%% A signal to a node that is gone is lost, unless there has never been such a node.
lost_or_unknown(#me{table = Table} = Me, From, To, Signal) ->
    case lists:member(To, raddle_table:find(Table, nodes, [])) of
        true -> ok;
        false -> unreachable(Me, From, To, Signal)
    end.

%% Signals about a connection that has ended do not create another one.
connects(Signal) -> not lists:member(element(1, Signal), [linked, down, unlink, demonitor, spawned, not_spawned]).

unreachable(Me, From, To, {link, Pid, Other}) -> enqueue(Me, To, From, {sure, {linked, Other, Pid, noconnection}});
unreachable(Me, From, To, {monitor, Reference, Pid, Object}) ->
    enqueue(Me, To, From, {sure, {down, Reference, Pid, Object, noconnection}});
unreachable(Me, From, To, {spawn, Reference, Pid, _, _, _, _, _}) ->
    enqueue(Me, To, From, {sure, {not_spawned, Reference, Pid, noconnection}});
unreachable(Me, From, To, {monitor_node, Pid}) -> enqueue(Me, To, From, {sure, {message, Pid, {nodedown, To}}});
unreachable(_, _, _, _) -> ok.

enqueue(#me{session = Session, table = Table} = Me, From, To, Signal) ->
    {Actor, _} = carrier(Me, From, To),
    Key = {queue, From, To},
    raddle_table:put_list(Table, Key, raddle_table:list(Table, Key) ++ [Signal]),
    is_loseable(Signal) andalso ets:insert(Table, {given, {given, From, To}}),
    raddle_nif:deliver(Session, Actor),
    ok.

%% Connects an idle line. Both nodes observe it through their queues.
connect(#me{table = Table} = Me, From, To) ->
    Epoch = raddle_table:count(Table, epochs),
    set(Table, From, To, {connected, Epoch}),
    enqueue(Me, To, From, {nodeup, From, To, Epoch}),
    enqueue(Me, From, To, {nodeup, To, From, Epoch}).

%% ---- losing

%% Breaks the line, which is in State from now on. Ends are the nodes that observe it, each with the reason.
lose(#me{table = Table} = Me, From, To, State, Ends) ->
    case state(Table, From, To) of
        {connected, _} -> [break(Me, if End =:= From -> To; true -> From end, End, Reason) || {End, Reason} <- Ends];
        _ -> ok
    end,
    set(Table, From, To, State).

%% Ends the queue from From to To: To observes it after what may still arrive.
break(#me{session = Session, table = Table, actor = Actor} = Me, From, To, Reason) ->
    Id = raddle_table:count(Table, breaks),
    {Carrier, _} = carrier(Me, From, To),
    enqueue(Me, From, To, {nodedown, To, From, Reason, Id}),
    case ets:member(Table, {given, From, To}) of
        false -> ok;
        true ->
            Object = raddle_table:object(Me, {break, From, To}),
            Loss = raddle_nif:add_task(Session, max(Actor, 0), ?WRITE, ?AT_CARRIER, {?WRITES(Object), ?NONE}),
            ets:insert(Table, [{actor, {actor, Loss}, {loss, From, To, Id}},
                               {actor_name, {actor_name, Loss}, io_lib:format("loss from ~ts to ~ts", [From, To])},
                               {list, {breaks, From, To}, [Id | raddle_table:list(Table, {breaks, From, To})]}]),
            %% A delivery in progress may be lost as well.
            case raddle_table:find(Table, {actor, Carrier}, none) of
                {carrier, _, _, {ready, Signal, {_, _, Second}}} ->
                    is_loseable(Signal) andalso Second =/= ?READS(Object) andalso begin
                        ets:insert(Table, {actor, {actor, Carrier}, {carrier, From, To, taking}}),
                        raddle_nif:kill(Session, Carrier, ?AT_CARRIER, ?READS(Object))
                    end;
                _ -> ok
            end
    end.

is_loseable(Signal) -> not lists:member(element(1, Signal), [nodeup, nodedown, notice, sure]).

%% Drops messages that were sent on a line before it broke and have not arrived.
drop(#me{table = Table}, From, To, Id) ->
    {Before, After} = lists:splitwith(fun(Signal) -> not is_break(Signal, Id) end, raddle_table:list(Table, {queue, From, To})),
    After =/= [] andalso
        raddle_table:put_list(Table, {queue, From, To}, [Signal || Signal <- Before, not is_loseable(Signal)] ++ After),
    forget_break(Table, From, To, Id).

is_break({nodedown, _, _, _, Id}, Id) -> true;
is_break(_, _) -> false.

forget_break(Table, From, To, Id) ->
    raddle_table:put_list(Table, {breaks, From, To}, lists:delete(Id, raddle_table:list(Table, {breaks, From, To}))).

%% Drops everything in transit to a node.
forget(#me{table = Table}, Node) ->
    Nodes = raddle_table:find(Table, nodes, []),
    [begin
         ets:delete(Table, {queue, From, Node}),
         ets:delete(Table, {breaks, From, Node}),
         ets:delete(Table, {notices, Node, From}),
         ets:insert(Table, {view, {view, Node, From}, down}),
         case raddle_table:find(Table, {carrier, From, Node}, none) of
             none -> ok;
             {Carrier, _} -> ets:insert(Table, {actor, {actor, Carrier}, {carrier, From, Node, idle}})
         end
     end || From <- Nodes, From =/= Node],
    ok.

%% ---- the actor that empties a queue

carry(#me{table = Table} = Me, Who, From, To, {ready, Signal, Address}) ->
    case raddle_table:list(Table, {queue, From, To}) of
        [Signal | Rest] ->
            case address(Me, From, To, Signal) of
                Address ->
                    raddle_table:put_list(Table, {queue, From, To}, Rest),
                    raddle_signal:arrive(Me#me{node = To, pid = none}, Signal);
                _ -> ok % The name has another owner by now: the delivery restarts.
            end;
        _ -> ok
    end,
    carry(Me, Who, From, To, idle);
carry(#me{table = Table} = Me, Who, From, To, taking) ->
    case raddle_table:list(Table, {queue, From, To}) of
        [Signal | Rest] ->
            case is_loseable(Signal) of
                true ->
                    raddle_table:put_list(Table, {queue, From, To}, Rest),
                    hold(Me, Who, From, To, Signal);
                false -> carry(Me, Who, From, To, idle)
            end;
        [] -> carry(Me, Who, From, To, idle)
    end;
carry(Me, Who, From, To, {holding, Signal, Address}) ->
    case address(Me, From, To, Signal) of
        Address ->
            raddle_signal:arrive(Me#me{node = To, pid = none}, Signal),
            carry(Me, Who, From, To, idle);
        _ -> hold(Me, Who, From, To, Signal)
    end;
carry(#me{table = Table} = Me, Who, From, To, idle) ->
    case raddle_table:list(Table, {queue, From, To}) of
        [] -> rest(Me, Who, From, To);
        [Signal | _] ->
            Break = ?READS(raddle_table:object(Me, {break, From, To})),
            {_, First, Second} = Address = address(Me, From, To, Signal),
            Breaks = ets:member(Table, {breaks, From, To}) andalso is_loseable(Signal)
                andalso First =/= Break andalso Second =/= Break,
            Early = lists:member(element(1, Signal), [nodeup, notice]) andalso ets:member(Table, {notices, To, From}),
            if
                Early -> rest(Me, Who, From, To);
                Breaks ->
                    become(Me, {carrier, From, To, taking}),
                    announce(Me, Who, {?READ, Break, ?NONE});
                true ->
                    become(Me, {carrier, From, To, {ready, Signal, Address}}),
                    announce(Me, Who, Address)
            end
    end.

%% Returns the touches of the arrival of a signal: if there is room, also whether it is lost.
address(Me, From, To, Signal) ->
    Break = ?READS(raddle_table:object(Me, {break, From, To})),
    case {raddle_signal:arrival(Me, To, Signal), is_loseable(Signal)} of
        {{Kind, ?NONE, ?NONE}, true} -> {Kind, Break, ?NONE};
        {{Kind, First, ?NONE}, true} -> {Kind, First, Break};
        {Address, _} -> Address
    end.

hold(Me, Who, From, To, Signal) ->
    Address = address(Me, From, To, Signal),
    become(Me, {carrier, From, To, {holding, Signal, Address}}),
    announce(Me, Who, Address).

rest(#me{session = Session, actor = Actor} = Me, Who, From, To) ->
    become(Me, {carrier, From, To, idle}),
    raddle_nif:act_wait(Session, Who, Actor, ?AT_CARRIER).

become(#me{table = Table, actor = Actor}, State) -> ets:insert(Table, {actor, {actor, Actor}, State}).

announce(#me{session = Session, actor = Actor}, Who, {Kind, First, Second}) ->
    raddle_nif:act(Session, Who, Actor, Kind, ?AT_CARRIER, {First, Second}).

%% ---- marks

%% Returns the touches of the arrival of a mark: the node's messages to the other depend on it, and so does
%% the node's knowledge.
arrival(Me, Mark) ->
    {Node, Other} = {element(2, Mark), element(3, Mark)},
    {?WRITE, ?WRITES(element(2, carrier(Me, Node, Other))), ?WRITES(raddle_table:object(Me, {views, Node}))}.

arrive(#me{table = Table} = Me, {nodeup, Node, Other, Epoch}) ->
    ets:insert(Table, [{view, {view, Node, Other}, Epoch}, {connection, {connection, Node, Other}, Epoch}]),
    deliver_first(Me, Node, Other, raddle_node:messages(Me, Node, Other, nodeup, none)
                          ++ [{Pid, {'$raddle_connected', Other}} || Pid <- take(Table, {connecting, Node, Other})]);
arrive(#me{table = Table} = Me, {nodedown, Node, Other, Reason, Id}) ->
    forget_break(Table, Other, Node, Id),
    ets:insert(Table, {view, {view, Node, Other}, down}),
    notices(Me, Node, Other, raddle_watch:lost(Me, Node, Other) ++ raddle_node:lost(Me, Node, Other)),
    deliver_first(Me, Node, Other, raddle_node:messages(Me, Node, Other, nodedown, Reason)).

take(Table, Key) ->
    List = raddle_table:list(Table, Key),
    ets:delete(Table, Key),
    List.

%% Sends messages about a line before anything else that it delivers.
deliver_first(#me{table = Table}, Node, Other, Messages) ->
    Key = {queue, Other, Node},
    raddle_table:put_list(Table, Key, [{notice, Pid, Message} || {Pid, Message} <- Messages] ++ raddle_table:list(Table, Key)).

%% Notifies each process that has lost a link, a monitor or similar in separate operations, in any order with
%% others.
notices(#me{session = Session, table = Table, actor = Actor} = Me, Node, Other, Signals) ->
    Pids = lists:usort([Pid || {Pid, _} <- Signals]),
    Main = raddle_table:find(Table, main, none),
    [begin
         [First | _] = Mine = [Signal || {To, Signal} <- Signals, To =:= Pid],
         {Kind, One, Two} = raddle_signal:arrival(Me, Node, First),
         Task = raddle_nif:add_task(Session, Actor, Kind, ?AT_CARRIER, {One, Two}),
         ets:insert(Table, [{actor, {actor, Task}, {notices, Node, Other, Mine}},
                            {actor_name, {actor_name, Task},
                             ["loss of ", atom_to_list(Other), " for ", raddle_report:pid(Pid, Main, erlang:node(Main), raddle_table:find(Table, {called, Pid}, none))]}])
     end || Pid <- Pids],
    Pids =:= [] orelse ets:insert(Table, {notices, {notices, Node, Other}, length(Pids)}).

%% Executes one of these. The last one unblocks the line.
notify(#me{session = Session, table = Table, actor = Actor} = Me, Who, Node, Other, [Signal | Rest]) ->
    raddle_signal:arrive(Me#me{node = Node, pid = none}, Signal),
    case Rest of
        [Next | _] ->
            become(Me, {notices, Node, Other, Rest}),
            announce(Me, Who, raddle_signal:arrival(Me, Node, Next));
        [] ->
            ets:delete(Table, {actor, Actor}),
            case raddle_table:find(Table, {notices, Node, Other}, 1) of
                1 ->
                    ets:delete(Table, {notices, Node, Other}),
                    {Carrier, _} = carrier(Me, Other, Node),
                    raddle_nif:deliver(Session, Carrier);
                Count -> ets:insert(Table, {notices, {notices, Node, Other}, Count - 1})
            end,
            raddle_nif:finish(Session, Who, Actor)
    end.
