%% Two processes count, and one update may be lost; and some functions with other bugs.
-module(race).
-export([lost/0, waits/0, fine/0, calls/0, mixed/0, reports/0, traces/0, ticks/0, ends/0, prints/0, asks/0, busy/0, square/1, takes/1, init/1, handle_call/3, handle_cast/2]).

lost() ->
    Table = ets:new(table, [public]),
    ets:insert(Table, {count, 0}),
    Self = self(),
    [spawn(fun() ->
               [{count, N}] = ets:lookup(Table, count),
               ets:insert(Table, {count, N + 1}),
               Self ! done
           end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]],
    [{count, 2}] = ets:lookup(Table, count).

waits() -> receive never -> ok end.

fine() -> Self = self(), spawn(fun() -> Self ! hello end), receive hello -> ok end.

calls() -> open_port({spawn, "ls"}, []).

%% A bug in one order, and an uncontrolled function in the other.
mixed() ->
    S = self(), [spawn(fun() -> S ! N end) || N <- [1, 2]],
    receive 1 -> error(first); 2 -> calls() end.

reports() ->
    Self = self(),
    spawn(fun() -> logger:error("~p is bad", [self()]), Self ! done end),
    receive done -> ok end.

%% Fails if a function at the bottom of OTP is allowed.
traces() -> [] = seq_trace:get_token(), error(through).

ticks() -> timer:sleep(1000), ticks().

%% The other process may crash before the test is over.
ends() -> Self = self(), spawn(fun() -> Self ! hello, erlang:yield(), error(late) end), receive hello -> ok end.

%% Prints which process comes first, and fails in some orders.
prints() ->
    Self = self(), [spawn(fun() -> Self ! N end) || N <- [1, 2]],
    First = receive N -> N end,
    io:format("~w of ~p~nis first~n", [First, self()]),
    First = 1.

%% Two processes count with a server, in two calls each.
asks() ->
    {ok, Server} = gen_server:start_link({local, server}, ?MODULE, 0, []),
    Self = self(),
    [spawn_link(fun() ->
                    N = gen_server:call(Server, get),
                    ok = gen_server:call(Server, {set, N + 1}),
                    Self ! done
                end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]],
    2 = gen_server:call(Server, get).

init(N) -> {ok, N}.
handle_call(get, _, N) -> {reply, N, N};
handle_call({set, N}, _, _) -> {reply, ok, N}.
handle_cast(_, N) -> {noreply, N}.

takes(_) -> no_such:function().

%% Spends minutes in one builtin, during which its scheduler runs no other process.
busy() -> ?MODULE:square(20000000).

square(Bits) -> Number = (1 bsl Bits) - 1, (Number * Number) rem 7.
