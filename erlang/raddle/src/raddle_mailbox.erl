%% Sending and receiving. Messages are messages of the BEAM; they are matched in the receiver, in the order in which they came.
-module(raddle_mailbox).
-export([send/3, send/4, 'receive'/3, await_any/1, flush/1, messages/0]).
-include("raddle_run.hrl").

%% ---- sending

send(To, Message, Place) when is_pid(To) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    case raddle_table:process(Table, To) of
        #process{mailbox = Mailbox, real = Real} when erlang:node(To) =:= Node ->
            %% What most sends are. The operation itself tells the engine that something has come.
            raddle_turn:step(Me, ?SEND, Place, ?WRITES(Mailbox)),
            Real ! {'$m', Message},
            Message;
        _ -> send_far(Me, To, {message, To, Message}, Message, Place)
    end;
send(To, Message, Place) when is_reference(To) -> send_far(raddle_turn:me(), To, {alias, To, Message}, Message, Place);
send(Name, Message, Place) when is_atom(Name) ->
    #me{node = Node} = Me = raddle_turn:me(),
    send_name(Me, Name, Node, Message, Place) orelse erlang:error(badarg),
    Message;
send({Name, Node}, Message, Place) when is_atom(Name), is_atom(Node) ->
    case raddle_turn:me() of
        #me{node = Node} = Me -> send_name(Me, Name, Node, Message, Place);
        Me -> send_far(Me, {Name, Node}, {named, Name, Node, Message}, Message, Place)
    end,
    Message;
send(_, _, _) -> erlang:error(badarg).

send_far(#me{node = Node} = Me, To, Signal, Message, Place) ->
    {Kind, First, Second} = raddle_signal:address(Me, Node, To),
    raddle_turn:step(Me, Kind, Place, First, Second),
    raddle_signal:send(Me, Node, To, Signal),
    Message.

%% Tells whether there is such a name. If it gets another owner before the operation is executed, the operation was only a look
%% at the name.
send_name(#me{node = Node} = Me, Name, Node, Message, Place) ->
    Owner = raddle_name:owner(Me, Name, Node),
    {Kind, First, Second} = raddle_signal:address(Me, Node, {Name, Node}),
    raddle_turn:step(Me, Kind, Place, First, Second),
    case raddle_name:owner(Me, Name, Node) of
        Owner when Owner =:= undefined -> false;
        Owner -> raddle_signal:post(Me, Owner, Message), true;
        _ -> send_name(Me, Name, Node, Message, Place)
    end.

%% As erlang:send/3. Nothing here is ever busy.
send(To, Message, Options, Place) ->
    is_list(Options) orelse erlang:error(badarg),
    case lists:member(noconnect, Options) andalso not is_connected(To) of
        true -> noconnect;
        false ->
            send(To, Message, Place),
            ok
    end.

%% A connection that is being made takes what is sent on it, whoever makes it.
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

%% Takes the first message for which Wanted holds, as {'$m', Message}, or says '$late'. Wanted is none if no message is wanted.
'receive'(Wanted, Time, Place) ->
    raddle_turn:settle(Place),
    take(Wanted, Time, Place).

take(none, infinity, Place) ->
    Me = raddle_turn:me(),
    sleep_for_ever(Me, Place);
take(none, 0, Place) ->
    raddle_turn:step(raddle_turn:me(), ?YIELD, Place, ?NONE),
    '$late';
take(none, Time, Place) ->
    raddle_turn:sleep(raddle_turn:me(), Place, nanoseconds(Time)),
    '$late';
take(Wanted, Time, Place) ->
    case found(Wanted, Time, Place) of
        {'$m', _} = Found -> Found;
        none when Time =:= 0 ->
            poll(raddle_turn:me(), Place),
            case pick(Wanted) of
                none -> '$late';
                Found -> Found
            end;
        none when Time =:= infinity -> wait(raddle_turn:me(), Wanted, infinity, Place);
        none ->
            #me{session = Session} = Me = raddle_turn:me(),
            wait(Me, Wanted, raddle_nif:now(Session) + nanoseconds(Time), Place)
    end.

%% The message, if it is there already. Where it might have come too late, a search has to see that it was looked for.
found(Wanted, infinity, _) -> pick(Wanted);
found(Wanted, Time, Place) ->
    case raddle_turn:me() of
        #me{searches = true, session = Session} = Me ->
            (Time =:= 0 orelse raddle_nif:anytime(Session))
                andalso lists:any(Wanted, messages()) andalso poll(Me, Place),
            pick(Wanted);
        _ -> pick(Wanted)
    end.

poll(#me{mailbox = Mailbox} = Me, Place) -> raddle_turn:step(Me, ?POLL, Place, ?READS(Mailbox)).

nanoseconds(Time) when is_integer(Time), Time >= 0, Time =< 16#ffffffff -> Time * 1000000;
nanoseconds(_) -> erlang:error(timeout_value).

sleep_for_ever(Me, Place) ->
    raddle_turn:wait(Me, Place, -1),
    sleep_for_ever(Me, Place).

wait(#me{session = Session} = Me, Wanted, End, Place) ->
    Span = case End of
               infinity -> -1;
               _ -> max(0, End - raddle_nif:now(Session))
           end,
    case raddle_turn:wait(Me, Place, Span) of
        timeout -> '$late';
        go ->
            case pick(Wanted) of
                none -> wait(Me, Wanted, End, Place);
                Found -> Found
            end
    end.

%% The first message that is wanted, which leaves the mailbox. Older ones that nobody wanted are in the process dictionary.
pick(Wanted) -> pick(Wanted, messages(), []).

pick(_, [], _) -> none;
pick(Wanted, [Message | Rest], Passed) ->
    case Wanted(Message) of
        true ->
            erlang:put('$raddle_mail', lists:reverse(Passed, Rest)),
            {'$m', Message};
        false -> pick(Wanted, Rest, [Message | Passed])
    end.

%% All that has come and was not taken, oldest first.
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
await_any(Place) ->
    raddle_turn:settle(Place),
    case messages() of
        [] -> raddle_turn:wait(raddle_turn:me(), Place, -1), await_any(Place);
        _ -> ok
    end.

%% Takes what a monitor has brought out of the mailbox; tells whether there was something.
flush(Reference) ->
    Is = fun(Message) ->
             is_tuple(Message) andalso tuple_size(Message) =:= 5 andalso element(2, Message) =:= Reference
                 andalso element(3, Message) =:= process
         end,
    pick(Is) =/= none.
