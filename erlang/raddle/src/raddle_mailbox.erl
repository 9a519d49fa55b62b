%% Sending and receiving. Messages are messages of the BEAM; the receiver matches them in the order of
%% arrival.
-module(raddle_mailbox).
-export([send/3, send/4, 'receive'/3, await_any/1, flush/1, messages/0]).
-include("raddle_run.hrl").

%% ---- sending

send(To, Message, Location) when is_pid(To) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    case raddle_table:process(Table, To) of
        #process{mailbox = Mailbox, real = Real} when erlang:node(To) =:= Node ->
            %% The common case. The operation itself announces the message to the engine.
            raddle_turn:step(Me, ?SEND, Location, ?WRITES(Mailbox)),
            Real ! {'$m', Message},
            Message;
        _ -> send_far(Me, To, {message, To, Message}, Message, Location)
    end;
send(To, Message, Location) when is_reference(To) -> send_far(raddle_turn:me(), To, {alias, To, Message}, Message, Location);
send(Name, Message, Location) when is_atom(Name) ->
    #me{node = Node} = Me = raddle_turn:me(),
    send_name(Me, Name, Node, Message, Location) orelse erlang:error(badarg),
    Message;
send({Name, Node}, Message, Location) when is_atom(Name), is_atom(Node) ->
    case raddle_turn:me() of
        #me{node = Node} = Me -> send_name(Me, Name, Node, Message, Location);
        Me -> send_far(Me, {Name, Node}, {named, Name, Node, Message}, Message, Location)
    end,
    Message;
send(_, _, _) -> erlang:error(badarg).

send_far(#me{node = Node} = Me, To, Signal, Message, Location) ->
    {Kind, First, Second} = raddle_signal:address(Me, Node, To),
    raddle_turn:step(Me, Kind, Location, First, Second),
    raddle_signal:send(Me, Node, To, Signal),
    Message.

%% Returns whether there is such a name. If it gets another owner before the operation is executed, the
%% operation was only a lookup of the name.
send_name(#me{node = Node} = Me, Name, Node, Message, Location) ->
    Owner = raddle_name:owner(Me, Name, Node),
    {Kind, First, Second} = raddle_signal:address(Me, Node, {Name, Node}),
    raddle_turn:step(Me, Kind, Location, First, Second),
    case raddle_name:owner(Me, Name, Node) of
        Owner when Owner =:= undefined -> false;
        Owner -> raddle_signal:post(Me, Owner, Message), true;
        _ -> send_name(Me, Name, Node, Message, Location)
    end.

%% Like erlang:send/3. A send is never busy here.
send(To, Message, Options, Location) ->
    is_list(Options) orelse erlang:error(badarg),
    case lists:member(noconnect, Options) andalso not is_connected(To) of
        true -> noconnect;
        false ->
            send(To, Message, Location),
            ok
    end.

%% A connection in progress accepts messages, whichever side creates it.
is_connected(To) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    case To of
        _ when is_pid(To); is_reference(To) -> is_connected(Table, Node, erlang:node(To));
        {_, Other} -> is_connected(Table, Node, Other);
        _ -> true
    end.

is_connected(_, Node, Node) -> true;
is_connected(Table, Node, Other) -> raddle_line:is_up(Table, Node, Other) orelse is_tuple(raddle_line:state(Table, Node, Other)).

%% ---- receiving

%% Takes the first message for which Wanted holds, as {'$m', Message}, or returns '$late'. Wanted is none if
%% no message is wanted.
'receive'(Wanted, Time, Location) ->
    raddle_turn:settle(Location),
    take(Wanted, Time, Location).

take(none, infinity, Location) ->
    Me = raddle_turn:me(),
    sleep_for_ever(Me, Location);
take(none, 0, Location) ->
    raddle_turn:step(raddle_turn:me(), ?YIELD, Location, ?NONE),
    '$late';
take(none, Time, Location) ->
    raddle_turn:sleep(raddle_turn:me(), Location, nanoseconds(Time)),
    '$late';
take(Wanted, Time, Location) ->
    case found(Wanted, Time, Location) of
        {'$m', _} = Found -> Found;
        none when Time =:= 0 ->
            poll(raddle_turn:me(), Location),
            case pick(Wanted) of
                none -> '$late';
                Found -> Found
            end;
        none when Time =:= infinity -> wait(raddle_turn:me(), Wanted, infinity, Location);
        none ->
            #me{session = Session} = Me = raddle_turn:me(),
            wait(Me, Wanted, raddle_nif:now(Session) + nanoseconds(Time), Location)
    end.

%% Returns the message, if it is already there. If it might have come too late, a search must see the lookup.
found(Wanted, infinity, _) -> pick(Wanted);
found(Wanted, Time, Location) ->
    case raddle_turn:me() of
        #me{searches = true, session = Session} = Me ->
            (Time =:= 0 orelse raddle_nif:anytime(Session))
                andalso lists:any(Wanted, messages()) andalso poll(Me, Location),
            pick(Wanted);
        _ -> pick(Wanted)
    end.

poll(#me{mailbox = Mailbox} = Me, Location) -> raddle_turn:step(Me, ?POLL, Location, ?READS(Mailbox)).

nanoseconds(Time) when is_integer(Time), Time >= 0, Time =< 16#ffffffff -> Time * 1000000;
nanoseconds(_) -> erlang:error(timeout_value).

sleep_for_ever(Me, Location) ->
    raddle_turn:wait(Me, Location, -1),
    sleep_for_ever(Me, Location).

wait(#me{session = Session} = Me, Wanted, End, Location) ->
    Span = case End of
               infinity -> -1;
               _ -> max(0, End - raddle_nif:now(Session))
           end,
    case raddle_turn:wait(Me, Location, Span) of
        timeout -> '$late';
        go ->
            case pick(Wanted) of
                none -> wait(Me, Wanted, End, Location);
                Found -> Found
            end
    end.

%% Removes the first wanted message from the mailbox. Older ones that did not match are in the process
%% dictionary.
pick(Wanted) -> pick(Wanted, messages(), []).

pick(_, [], _) -> none;
pick(Wanted, [Message | Rest], Passed) ->
    case Wanted(Message) of
        true ->
            erlang:put('$raddle_mail', lists:reverse(Passed, Rest)),
            {'$m', Message};
        false -> pick(Wanted, Rest, [Message | Passed])
    end.

%% Returns all messages that were not taken, oldest first.
messages() ->
    case drain([]) of
        [] -> erlang:get('$raddle_mail');
        New ->
            All = erlang:get('$raddle_mail') ++ lists:reverse(New),
            erlang:put('$raddle_mail', All),
            All
    end.

drain(New) ->
    receive
        {'$m', Message} -> drain([Message | New])
    after 0 -> New
    end.

%% Waits until there is any message, and leaves it there.
await_any(Location) ->
    raddle_turn:settle(Location),
    case messages() of
        [] -> raddle_turn:wait(raddle_turn:me(), Location, -1), await_any(Location);
        _ -> ok
    end.

%% Removes the message of a monitor from the mailbox; returns whether there was one.
flush(Reference) ->
    Is = fun(Message) ->
             is_tuple(Message) andalso tuple_size(Message) =:= 5 andalso element(2, Message) =:= Reference
                 andalso element(3, Message) =:= process
         end,
    pick(Is) =/= none.
