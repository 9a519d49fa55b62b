%% Litmus programs for features of OTP 26 and 27. Older releases have none of them.
-module(litmus_otp27).
-compile([export_all, nowarn_export_all]).
-if(?OTP_RELEASE >= 27).
-include("litmus.hrl").

table() -> ets:new(t, [public]).

l_lookup_element_default() -> T = table(), go(fun() -> ets:insert(T, {k, 1}) end), d(), ets:lookup_element(T, k, 2, none).
l_update_element_default() -> T = table(), S = self(), [go(fun() -> S ! {N, ets:update_element(T, k, {N, N}, {k, 0, 0})} end) || N <- [2, 3]],
    [receive {N, true} -> ok end || N <- [2, 3]], ets:lookup(T, k).
l_update_element_delete() -> T = table(), S = self(), ets:insert(T, {k, 1, 1}), go(fun() -> ets:delete(T, k), S ! ok end), d(),
    ets:update_element(T, k, {2, 2}, {k, 0, 0}), receive ok -> ets:lookup(T, k) end.
l_first_lookup() -> T = table(), go(fun() -> ets:insert(T, {k, 1}) end), d(), ets:first_lookup(T).
l_last_lookup() -> T = ets:new(t, [public, ordered_set]), ets:insert(T, {a, 1}), go(fun() -> ets:insert(T, {b, 2}) end), d(), ets:last_lookup(T).
l_next_lookup() -> T = table(), ets:insert(T, [{a, 1}, {c, 3}]), S = self(), go(fun() -> ets:insert(T, {b, 2}), S ! ok end), d(),
    N = length(walk(T, ets:first_lookup(T))), receive ok -> {N, length(walk(T, ets:first_lookup(T)))} end.
walk(_, '$end_of_table') -> [];
walk(T, {K, [O]}) -> [O | walk(T, ets:next_lookup(T, K))].
l_prev_lookup() -> T = ets:new(t, [ordered_set]), ets:insert(T, [{a, 1}, {b, 2}]), [ets:prev_lookup(T, b), ets:prev_lookup(T, a)].

l_apply_after_fun() -> S = self(), {ok, _} = timer:apply_after(1, fun() -> S ! a end), {ok, _} = timer:apply_after(1, fun(X) -> S ! X end, [b]),
    lists:sort([get1(), get1()]).
l_apply_after_cancel() -> S = self(), {ok, R} = timer:apply_after(100, fun() -> S ! a end), {ok, cancel} = timer:cancel(R), receive M -> M after 200 -> none end.
l_apply_repeatedly() -> S = self(), {ok, R} = timer:apply_repeatedly(1, fun() -> S ! tick end), X = [get1(), get1()], {ok, cancel} = timer:cancel(R), X.
l_tc_unit() -> F = fun(X) -> X end, {A, a} = timer:tc(fun() -> a end, second), {B, b} = timer:tc(F, [b], second), {C, c} = timer:tc(lists, nth, [1, [c]], second), A + B + C.

l_init_fail() -> process_flag(trap_exit, true), X = proc_lib:start_link(?MODULE, fails, []), {X, none()}.
l_init_fail_monitor() -> {X, R} = proc_lib:start_monitor(?MODULE, fails, []), {X, receive {'DOWN', R, process, _, W} -> W end}.
fails() -> proc_lib:init_fail({error, no}, {exit, why}).
l_label() -> S = self(), P = go(fun() -> proc_lib:set_label(me), S ! done, receive stop -> ok end end), d(), X = proc_lib:get_label(P),
    receive done -> Y = proc_lib:get_label(P), P ! stop, {X, Y} end.

%% The caller determines the clause, in a part of the expression that has its own guards.
l_maybe() -> S = self(), go(fun() -> S ! {who, S} end), go(fun() -> S ! {ok, 1} end),
    maybe {ok, X} ?= get1(), {who, _} ?= get1(), {first, X} else {who, P} when P =:= self() -> {second, get1()}; _ -> wrong end.
l_map_comprehension() -> S = self(), [go(fun() -> S ! {N, N * N} end) || N <- [1, 2]], M = #{K => V || {K, V} <- [get1(), get1()]}, lists:sort([K + V || K := V <- M]).
l_texts() -> S = self(), go(fun() -> S ! ~"a\tb" end), go(fun() -> S ! """
    a	b
    """ end), lists:sort([get1(), get1()]).
l_json() -> S = self(), go(fun() -> S ! iolist_to_binary(json:encode(#{a => [1, null, true]})) end), json:decode(get1()).

%% Not compared with a real VM, whose order differs.
map_order() -> [K || K := _ <- maps:from_list([{list_to_atom("otp27_" ++ [C]), C} || C <- "zyx"])].
-endif.
