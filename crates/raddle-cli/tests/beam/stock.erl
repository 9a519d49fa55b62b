%% A server whose clients look before they take, and two servers that ask each other.
-module(stock).
-behaviour(gen_server).
-export([crashes/0, asks/0, init/1, handle_call/3, handle_cast/2]).

init(Stock) -> {ok, Stock}.

handle_call({count, What}, _From, Stock) -> {reply, maps:get(What, Stock), Stock};
handle_call({take, What}, _From, Stock) -> {reply, ok, take(What, Stock)};
handle_call({ask, Other}, _From, Stock) -> {reply, count(Other, apples), Stock}.

handle_cast(_, Stock) -> {noreply, Stock}.

take(What, Stock) ->
    1 = maps:get(What, Stock),
    Stock#{What => 0}.

count(Server, What) -> gen_server:call(Server, {count, What}, infinity).

client() ->
    case count(stock, apples) of
        1 -> gen_server:call(stock, {take, apples});
        0 -> none
    end.

%% The server crashes if both clients look first.
crashes() ->
    {ok, _} = gen_server:start({local, stock}, ?MODULE, #{apples => 1}, []),
    Clients = [spawn_monitor(fun client/0) || _ <- [1, 2]],
    [receive {'DOWN', Monitor, process, _, Reason} -> normal = Reason end || {_, Monitor} <- Clients].

%% A deadlock if both servers are asked to ask.
asks() ->
    [A, B] = [element(2, {ok, _} = gen_server:start(?MODULE, #{apples => 1}, [])) || _ <- [1, 2]],
    Test = self(),
    [spawn(fun() -> gen_server:call(One, {ask, Other}, infinity), Test ! done end) || {One, Other} <- [{A, B}, {B, A}]],
    [receive done -> ok end || _ <- [1, 2]].
