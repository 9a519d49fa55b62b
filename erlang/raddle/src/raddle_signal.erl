%% Signals: how they reach a process of the same node at once, and one of another node by a delivery of its own.
%%
%% Between two nodes there is one ordered queue in each direction, and an actor that empties it; each delivery is an operation. What
%% actors without a process do when it is their turn is here, too.
-module(raddle_signal).
-export([act/2, address/3, send/4, arrive/2, post/3, begin_death/4, timer/5]).
-include("raddle_run.hrl").

%% ---- where a signal goes

%% The kind and the touches of the operation that gives a signal on its way from Node to a process, or to a name of a node.
address(Me, Node, To) ->
    case node_of(Node, To) of
        Node -> local(Me, Node, To);
        Other -> {?SEND, ?WRITES(element(2, carrier(Me, Node, Other))), ?NONE}
    end.

local(#me{table = Table}, _, Pid) when is_pid(Pid) ->
    case raddle_table:process(Table, Pid) of
        #process{mailbox = Mailbox} -> {?SEND, ?WRITES(Mailbox), ?NONE};
        none -> {?YIELD, ?NONE, ?NONE}
    end;
local(#me{table = Table} = Me, Node, Alias) when is_reference(Alias) ->
    case raddle_table:find(Table, {alias, Alias}, none) of
        none -> {?YIELD, ?NONE, ?NONE};
        Owner -> local(Me, Node, Owner)
    end;
local(Me, Node, {Name, Node}) ->
    Object = ?READS(raddle_table:object(Me, {name, Node, Name})),
    case raddle_name:owner(Me, Name, Node) of
        undefined -> {?READ, Object, ?NONE};
        Pid -> case local(Me, Node, Pid) of
                   {?SEND, Mailbox, _} -> {?SEND, Mailbox, Object};
                   _ -> {?READ, Object, ?NONE}
               end
    end.

node_of(_, {_, Node}) -> Node;
node_of(_, To) -> erlang:node(To).

%% Lets a signal that leaves Node arrive, or gives it to the delivery between the nodes. Part of the latest operation.
send(Me, Node, To, Signal) ->
    case node_of(Node, To) of
        Node -> arrive(Me, Signal);
        Other ->
            {Actor, _} = carrier(Me, Node, Other),
            Key = {queue, Node, Other},
            raddle_table:put_list(Me#me.table, Key, raddle_table:list(Me#me.table, Key) ++ [Signal]),
            raddle_nif:deliver(Me#me.session, Actor)
    end.

carrier(#me{session = Session, table = Table, actor = Actor}, From, To) ->
    case raddle_table:find(Table, {carrier, From, To}, none) of
        none ->
            {Carrier, _} = New = raddle_nif:add_carrier(Session, max(Actor, 0), ?AT_CARRIER),
            ets:insert(Table, [{carrier, {carrier, From, To}, New},
                               {actor, {actor, Carrier}, {carrier, From, To, idle}}]),
            New;
        Known -> Known
    end.

%% ---- what a signal does where it arrives

arrive(Me, {message, To, Message}) -> post(Me, To, Message);
arrive(Me, {named, Name, Node, Message}) ->
    case raddle_name:owner(Me, Name, Node) of
        undefined -> ok;
        Pid -> post(Me, Pid, Message)
    end;
arrive(#me{table = Table} = Me, {alias, Alias, Message}) ->
    case ets:lookup(Table, {alias, Alias}) of
        [{_, _, Owner, Mode}] ->
            Mode =:= reply_demonitor andalso raddle_watch:forget(Me, Alias),
            post(Me, Owner, Message);
        [] -> ok
    end;
arrive(Me, {exit, From, To, Reason}) -> raddle_process:hit(Me, From, To, Reason, exit);
arrive(#me{table = Table} = Me, {linked, From, To, Reason}) ->
    Links = raddle_table:list(Table, {links, To}),
    case lists:member(From, Links) of
        true ->
            raddle_table:put_list(Table, {links, To}, lists:delete(From, Links)),
            raddle_process:hit(Me, From, To, Reason, link);
        false -> ok
    end;
arrive(Me, {link, From, To}) -> raddle_watch:link_arrives(Me, From, To);
arrive(#me{table = Table}, {unlink, From, To}) ->
    raddle_table:put_list(Table, {links, To}, lists:delete(From, raddle_table:list(Table, {links, To})));
arrive(Me, {monitor, Reference, From, Target}) -> raddle_watch:monitor_arrives(Me, Reference, From, Target);
arrive(Me, {demonitor, Reference, Target}) -> raddle_watch:demonitor_arrives(Me, Reference, Target);
arrive(Me, {down, Reference, To, Object, Reason}) -> raddle_watch:down_arrives(Me, Reference, To, Object, Reason).

%% Puts a message into the mailbox of a process, if it is there.
post(#me{session = Session, table = Table}, To, Message) ->
    case raddle_table:process(Table, To) of
        #process{state = alive, actor = Actor, real = Real} ->
            Real ! {'$m', Message},
            raddle_nif:deliver(Session, Actor);
        _ -> ok
    end.

%% ---- actors without a process

%% Actor has executed the operation that it announced. Plays it up to its next one, and returns what the engine answers.
act(Actor, #me{session = Session, table = Table} = Me0) ->
    Who = Me0#me.actor,
    Me = Me0#me{actor = Actor},
    case raddle_table:find(Table, {actor, Actor}, none) of
        {carrier, From, To, State} -> carry(Me, Who, From, To, State);
        {timer, Reference, Target, Message, Node} -> ring(Me, Who, Reference, Target, Message, Node);
        {dying, Pid, Reason, Stages} -> die(Me#me{pid = none, node = erlang:node(Pid)}, Who, Pid, Reason, Stages);
        none -> raddle_nif:finish(Session, Who, Actor)
    end.

announce(#me{session = Session, actor = Actor}, Who, {Kind, First, Second}, Place) ->
    raddle_nif:act(Session, Who, Actor, Kind, Place, {First, Second}).

become(#me{table = Table, actor = Actor}, State) -> ets:insert(Table, {actor, {actor, Actor}, State}).

%% A delivery between nodes: announces the oldest signal, and lets it arrive when that was executed.
carry(#me{table = Table} = Me, Who, From, To, {ready, Signal, Address}) ->
    case arrival(Me, To, Signal) of
        Address ->
            [Signal | Rest] = raddle_table:list(Table, {queue, From, To}),
            raddle_table:put_list(Table, {queue, From, To}, Rest),
            arrive(Me#me{node = To, pid = none}, Signal);
        _ -> ok % A name has another owner by now: the delivery begins anew.
    end,
    carry(Me, Who, From, To, idle);
carry(#me{session = Session, table = Table, actor = Actor} = Me, Who, From, To, idle) ->
    case raddle_table:list(Table, {queue, From, To}) of
        [] ->
            become(Me, {carrier, From, To, idle}),
            raddle_nif:act_wait(Session, Who, Actor, ?AT_CARRIER);
        [Signal | _] ->
            Address = arrival(Me, To, Signal),
            become(Me, {carrier, From, To, {ready, Signal, Address}}),
            announce(Me, Who, Address, ?AT_CARRIER)
    end.

%% What the arrival of a signal touches.
arrival(Me, Node, {message, To, _}) -> local(Me, Node, To);
arrival(Me, Node, {named, Name, Node, _}) -> local(Me, Node, {Name, Node});
arrival(Me, Node, {alias, Alias, _}) -> local(Me, Node, Alias);
arrival(Me, Node, {down, _, To, _, _}) -> local(Me, Node, To);
arrival(Me, _, {Exit, _, To, _}) when Exit =:= exit; Exit =:= linked -> hits(Me, To);
arrival(Me, _, {monitor, _, _, {Name, Node}}) ->
    {?READ, ?READS(raddle_table:object(Me, {name, Node, Name})), ?NONE};
arrival(Me, _, {monitor, _, _, To}) -> looks(Me, To);
arrival(Me, _, {demonitor, _, _}) -> _ = Me, {?YIELD, ?NONE, ?NONE};
arrival(Me, _, {_, _, To}) -> looks(Me, To).

hits(#me{table = Table}, To) ->
    case raddle_table:process(Table, To) of
        #process{mailbox = Mailbox, life = Life} -> {?WRITE, ?WRITES(Mailbox), ?WRITES(Life)};
        none -> {?YIELD, ?NONE, ?NONE}
    end.

looks(#me{table = Table}, To) ->
    case raddle_table:process(Table, To) of
        #process{life = Life} -> {?READ, ?READS(Life), ?NONE};
        none -> {?YIELD, ?NONE, ?NONE}
    end.

%% A timer: its time is over, then its message is sent. What is left of a cancelled one ends.
timer(Me, Actor, Reference, Target, Message) ->
    ets:insert(Me#me.table, {actor, {actor, Actor}, {timer, Reference, Target, {waits, Message}, Me#me.node}}).

ring(Me, Who, Reference, Target, {waits, Message}, Node) ->
    become(Me, {timer, Reference, Target, {rings, Message}, Node}),
    Timer = ?WRITES(raddle_table:object(Me, {timer, Reference})),
    case address(Me, Node, Target) of
        _ when is_tuple(Target) -> announce(Me, Who, {?WRITE, Timer, ?NONE}, ?AT_TIMER);
        {Kind, ?NONE, _} -> announce(Me, Who, {Kind, Timer, ?NONE}, ?AT_TIMER);
        {_, Mailbox, _} -> announce(Me, Who, {?WRITE, Mailbox, Timer}, ?AT_TIMER)
    end;
ring(#me{table = Table} = Me, Who, Reference, {_, _} = Target, {rings, Message}, Node) ->
    %% For a name there is no room beside the timer, so it is looked up and sent to in an operation of its own.
    ets:delete(Table, {timer, Reference}),
    ring(Me, Who, Reference, Target, {looks, Message}, Node);
ring(Me, Who, Reference, Target, {looks, Message}, Node) ->
    Address = address(Me, Node, Target),
    become(Me, {timer, Reference, Target, {sends, Message, Address}, Node}),
    announce(Me, Who, Address, ?AT_TIMER);
ring(#me{session = Session, table = Table, actor = Actor} = Me, Who, Reference, Target, {sends, Message, Address}, Node) ->
    case address(Me, Node, Target) of
        Address ->
            ets:delete(Table, {actor, Actor}),
            send(Me#me{node = Node}, Node, Target, signal(Target, Message)),
            raddle_nif:finish(Session, Who, Actor);
        _ -> ring(Me, Who, Reference, Target, {looks, Message}, Node) % The name has another owner by now.
    end;
ring(#me{session = Session, table = Table, actor = Actor} = Me, Who, Reference, Target, {rings, Message}, Node) ->
    ets:delete(Table, {timer, Reference}),
    ets:delete(Table, {actor, Actor}),
    send(Me#me{node = Node}, Node, Target, signal(Target, Message)),
    raddle_nif:finish(Session, Who, Actor).

signal({Name, Node}, Message) -> {named, Name, Node, Message};
signal(To, Message) -> {message, To, Message}.

%% ---- the end of a process, one operation after the other

%% From now on Actor is the death of the process. The first of its operations has been announced by whoever calls this.
begin_death(Table, Actor, Pid, Reason) ->
    ets:insert(Table, {actor, {actor, Actor}, {dying, Pid, Reason, [exiting]}}).

die(#me{table = Table} = Me, Who, Pid, Reason, [Stage | Stages]) ->
    More = raddle_process:die(Me, Pid, Reason, Stage),
    case More of
        failed -> stop;
        _ ->
            case More ++ Stages of
                [] ->
                    ets:delete(Table, {actor, Me#me.actor}),
                    raddle_nif:finish(Me#me.session, Who, Me#me.actor);
                [Next | _] = Left ->
                    become(Me, {dying, Pid, Reason, Left}),
                    announce(Me, Who, touches(Me, Pid, Next), ?AT_DEATH)
            end
    end.

%% What a stage of a death touches.
touches(Me, _, {table, Tab}) -> raddle_ets:whole(Me, Tab);
touches(#me{table = Table} = Me, Pid, gone) ->
    #process{life = Life} = raddle_table:process(Table, Pid),
    case raddle_table:find(Table, {name_of, Pid}, none) of
        none -> {?WRITE, ?WRITES(Life), ?NONE};
        Name -> {?WRITE, ?WRITES(Life), ?WRITES(raddle_table:object(Me, {name, erlang:node(Pid), Name}))}
    end;
touches(Me, Pid, {signal, To, {linked, _, _, _}}) when erlang:node(To) =:= erlang:node(Pid) -> hits(Me, To);
touches(Me, Pid, {signal, To, _}) -> address(Me, erlang:node(Pid), To).
