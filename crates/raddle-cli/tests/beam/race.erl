%% Two processes count, and one of them may be lost; and some that do other things wrong.
-module(race).
-export([lost/0, waits/0, fine/0, prints/0, reports/0]).

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

prints() -> file:write_file("somewhere", "x").

reports() ->
    Self = self(),
    spawn(fun() -> logger:error("~p is bad", [self()]), Self ! done end),
    receive done -> ok end.
