%% Signals: they reach a process of the same node at once, and one of another node by a line between the two
%% (raddle_line). Also the actions of actors without a process.
-module(raddle_signal).
-export([act/2, address/3, send/4, arrival/3, arrive/2, post/3, begin_death/4, timer/5]).
-include("raddle_run.hrl").

%% ---- the target of a signal

%% Returns the kind and the touches of the operation that sends a signal from Node to a process, or to a name
%% of a node.
address(Me, Node, To) ->
    case node_of(Node, To) of
        Node -> local(Me, Node, To);
        Other -> {?SEND, ?WRITES(element(2, raddle_line:carrier(Me, Node, Other))), ?NONE}
    end.

local(#me{table = Table}, _, Pid) when is_pid(Pid) ->
    case raddle_table:process(Table, Pid) of
        #process{mailbox = Mailbox} -> {?SEND, ?WRITES(Mailbox), ?NONE};
        none -> late(Table, Pid, fun(Mailbox, _) -> {?WRITE, ?WRITES(Mailbox), ?NONE} end)
    end;
local(#me{table = Table} = Me, Node, Alias) when is_reference(Alias) ->
    case {ets:lookup(Table, {alias, Alias}), raddle_table:find(Table, {alias_owner, Alias}, none)} of
        {_, none} -> {?YIELD, ?NONE, ?NONE};
        {[{_, _, Owner, reply_demonitor}], _} ->
            %% A reply also ends the monitor.
            {Kind, First, ?NONE} = local(Me, Node, Owner),
            {Kind, First, raddle_watch:away(Me#me{node = Node}, Alias)};
        {[_], Owner} -> local(Me, Node, Owner);
        {[], Owner} ->
            %% It has no effect, but would have had one before the alias was deactivated.
            case raddle_table:objects(Table, Owner) of
                {Mailbox, _} -> {?WRITE, ?WRITES(Mailbox), ?NONE};
                none -> {?YIELD, ?NONE, ?NONE}
            end
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

%% A signal to a process that has ended has no effect, but would have had one before.
late(Table, Pid, Touches) ->
    case ets:lookup(Table, {grave, Pid}) of
        [{_, _, Mailbox, Life}] -> Touches(Mailbox, Life);
        [] -> {?YIELD, ?NONE, ?NONE}
    end.

node_of(_, {_, Node}) -> Node;
node_of(_, To) -> erlang:node(To).

%% Delivers a signal that leaves Node, or passes it to the delivery between the nodes. Part of the latest
%% operation.
send(Me, Node, To, Signal) ->
    case node_of(Node, To) of
        Node -> arrive(Me, Signal);
        Other -> raddle_line:give(Me, Node, Other, Signal)
    end.

%% ---- the effects of a signal on arrival

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
arrive(Me, {down, Reference, To, Object, Reason}) -> raddle_watch:down_arrives(Me, Reference, To, Object, Reason);
arrive(Me, {spawn, _, _, _, _, _, _, _} = Request) -> raddle_request:arrives(Me, Request);
arrive(Me, {spawned, Reference, To, Child}) -> raddle_request:answered(Me, Reference, To, {ok, Child});
arrive(Me, {not_spawned, Reference, To, Reason}) -> raddle_request:answered(Me, Reference, To, {error, Reason});
arrive(Me, {notice, To, Message}) -> post(Me, To, Message);
arrive(Me, {sure, Signal}) -> arrive(Me, Signal);
arrive(_, {monitor_node, _}) -> ok;
arrive(Me, Mark) -> raddle_line:arrive(Me, Mark).

%% Puts a message into the mailbox of a process, if it exists.
post(#me{session = Session, table = Table}, To, Message) ->
    case raddle_table:process(Table, To) of
        #process{state = alive, actor = Actor, real = Real} ->
            Real ! {'$m', Message},
            raddle_nif:deliver(Session, Actor);
        _ -> ok
    end.

%% ---- actors without a process

%% Continues Actor after its announced operation was executed, up to its next one, and returns the engine's
%% answer.
act(Actor, #me{session = Session, table = Table} = Me0) ->
    Who = Me0#me.actor,
    Me = Me0#me{actor = Actor},
    case raddle_table:find(Table, {actor, Actor}, none) of
        {carrier, From, To, State} -> raddle_line:carry(Me, Who, From, To, State);
        {notices, Node, Other, Signals} -> raddle_line:notify(Me, Who, Node, Other, Signals);
        {loss, From, To, Id} ->
            raddle_line:drop(Me, From, To, Id),
            ets:delete(Table, {actor, Actor}),
            raddle_nif:finish(Session, Who, Actor);
        {writes, File} ->
            case raddle_file:persist(Me, File) of
                done ->
                    ets:delete(Table, {actor, Actor}),
                    raddle_nif:finish(Session, Who, Actor);
                Next -> announce(Me, Who, Next, ?AT_CARRIER)
            end;
        {work, Work} -> raddle_fault:act(Me, Who, Work);
        {faults, Faults, Phase} -> raddle_faults:act(Me, Who, {Faults, Phase});
        {timer, Reference, Target, Message, Node} -> ring(Me, Who, Reference, Target, Message, Node);
        {dying, Pid, Reason, Stages} -> die(Me#me{pid = none, node = erlang:node(Pid)}, Who, Pid, Reason, Stages);
        none -> raddle_nif:finish(Session, Who, Actor)
    end.

announce(#me{session = Session, actor = Actor}, Who, {Kind, First, Second}, Location) ->
    raddle_nif:act(Session, Who, Actor, Kind, Location, {First, Second}).

become(#me{table = Table, actor = Actor}, State) -> ets:insert(Table, {actor, {actor, Actor}, State}).

%% Returns the touches of the arrival of a signal.
arrival(Me, Node, {message, To, _}) -> local(Me, Node, To);
arrival(Me, Node, {named, Name, Node, _}) -> local(Me, Node, {Name, Node});
arrival(Me, Node, {alias, Alias, _}) -> local(Me, Node, Alias);
arrival(Me, Node, {down, _, To, _, _}) -> local(Me, Node, To);
arrival(Me, _, {Exit, _, To, _}) when Exit =:= exit; Exit =:= linked -> hits(Me, To);
arrival(Me, _, {monitor, _, _, {Name, Node}}) ->
    Object = ?READS(raddle_table:object(Me, {name, Node, Name})),
    case raddle_name:owner(Me, Name, Node) of
        undefined -> {?READ, Object, ?NONE};
        Pid -> {_, Life, _} = looks(Me, Pid), {?READ, Object, Life}
    end;
arrival(Me, _, {monitor, _, _, To}) -> looks(Me, To);
arrival(_, _, {Word, _, _}) when Word =:= demonitor -> {?YIELD, ?NONE, ?NONE};
arrival(_, _, {monitor_node, _}) -> {?YIELD, ?NONE, ?NONE};
arrival(Me, Node, {spawn, _, _, _, _, _, _, _}) -> {?YIELD, ?READS(raddle_turn:roll(Me#me{node = Node}, processes)), ?NONE};
arrival(Me, _, {Answer, _, To, _}) when Answer =:= spawned; Answer =:= not_spawned -> hits(Me, To);
arrival(Me, Node, {notice, To, _}) -> local(Me, Node, To);
arrival(Me, Node, {sure, Signal}) -> arrival(Me, Node, Signal);
arrival(Me, _, Mark) when element(1, Mark) =:= nodeup; element(1, Mark) =:= nodedown -> raddle_line:arrival(Me, Mark);
arrival(Me, _, {_, _, To}) -> looks(Me, To).

hits(#me{table = Table}, To) ->
    case raddle_table:process(Table, To) of
        #process{mailbox = Mailbox, life = Life} -> {?WRITE, ?WRITES(Mailbox), ?WRITES(Life)};
        none -> late(Table, To, fun(Mailbox, Life) -> {?WRITE, ?WRITES(Mailbox), ?WRITES(Life)} end)
    end.

looks(#me{table = Table} = Me, To) ->
    case raddle_table:objects(Table, To) of
        {_, Life} -> {?READ, ?READS(Life), raddle_watch:order(Me, To)};
        none -> {?YIELD, ?NONE, ?NONE}
    end.

%% A timer: its time is over, then its message is sent. A cancelled one ends.
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
    %% A name does not fit next to the timer, so the lookup and the send are separate operations.
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

%% Makes Actor the death of the process. The caller has announced its first operation.
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

%% Returns the touches of a stage of a death.
touches(Me, _, {Stage, Tab}) when Stage =:= table; Stage =:= drop -> raddle_ets:end_touches(Me, Tab, Stage);
touches(Me, Pid, {roll, processes}) ->
    {?READ, ?READS(raddle_turn:roll(Me#me{node = erlang:node(Pid)}, processes)), ?READS(raddle_turn:roll(Me#me{node = erlang:node(Pid)}, names))};
touches(Me, Pid, {roll, What}) -> {?READ, ?READS(raddle_turn:roll(Me#me{node = erlang:node(Pid)}, What)), ?NONE};
touches(#me{table = Table} = Me, Pid, gone) ->
    #process{life = Life} = raddle_table:process(Table, Pid),
    case raddle_table:find(Table, {name_of, Pid}, none) of
        none -> {?WRITE, ?WRITES(Life), ?NONE};
        Name -> {?WRITE, ?WRITES(Life), ?WRITES(raddle_table:object(Me, {name, erlang:node(Pid), Name}))}
    end;
touches(Me, Pid, {signal, To, {linked, _, _, _}}) when erlang:node(To) =:= erlang:node(Pid) -> hits(Me, To);
touches(Me, Pid, {signal, To, _}) -> address(Me, erlang:node(Pid), To).
