%% A server on another node and its client, which does not handle failing nodes. Without faults they are correct in every order.
-module(store).
-export([asks/0, remembers/0, server/1]).

-define(B, 'b@x').

server(Value) ->
    catch register(store, self()),
    loop(Value).

loop(Value) ->
    receive
        {put, From, Reference, New} -> From ! {Reference, ok}, loop(New);
        {get, From, Reference} -> From ! {Reference, Value}, loop(Value)
    end.

%% Waits for an answer of a node that may be gone by then.
asks() ->
    Reference = make_ref(),
    spawn(?B, ?MODULE, server, [1]) ! {get, self(), Reference},
    receive {Reference, 1} -> ok end.

%% Asks again if necessary, and confuses whichever node answers with the one it informed. No answer is accepted.
remembers() ->
    spawn(?B, ?MODULE, server, [0]),
    case call(fun(Reference) -> {put, self(), Reference, 1} end, 5) of
        ok -> true = lists:member(call(fun(Reference) -> {get, self(), Reference} end, 5), [1, none]);
        none -> ok
    end.

call(_, 0) -> none;
call(Request, Times) ->
    Monitor = monitor(process, {store, ?B}),
    {store, ?B} ! Request(Monitor),
    receive
        {Monitor, Answer} -> demonitor(Monitor, [flush]), Answer;
        {'DOWN', Monitor, process, _, _} -> timer:sleep(10), call(Request, Times - 1)
    end.
