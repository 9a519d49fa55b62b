%% Litmus programs about messages: their order, selective receive, polls, aliases.
-module(litmus_messages).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

l_two_senders() -> S = self(), go(fun() -> S ! a end), go(fun() -> S ! b end), [get1(), get1()].
l_one_sender() -> S = self(), go(fun() -> S ! 1, d(), S ! 2, S ! 3 end), [get1(), get1(), get1()].
l_self() -> self() ! 1, self() ! 2, [get1(), get1()].
l_self_and_other() -> S = self(), go(fun() -> S ! a end), d(), S ! b, [get1(), get1()].
l_poll() -> S = self(), go(fun() -> S ! hi end), d(), receive hi -> got after 0 -> none end.
l_poll_twice() ->
    S = self(), go(fun() -> S ! hi end), d(),
    A = receive hi -> got after 0 -> none end, d(),
    B = receive hi -> got after 0 -> none end, {A, B}.
l_poll_two() ->
    S = self(), go(fun() -> S ! a, d(), S ! b end), d(),
    receive b -> b after 0 -> receive a -> a after 0 -> none end end.
l_selective() ->
    S = self(), go(fun() -> S ! {x, 1}, S ! {y, 2}, S ! {x, 3} end),
    A = receive {y, Y} -> Y end, B = receive {x, X} -> X end, {A, B, receive {x, Z} -> Z end}.
l_selective_bound() ->
    S = self(), K = make_ref(), go(fun() -> S ! {other, 1}, S ! {K, 2} end), receive {K, V} -> V end.
l_selective_guard() ->
    S = self(), go(fun() -> S ! 1, S ! 5, S ! 3 end), receive N when N > 2 -> N end.
l_guard_self() ->
    S = self(), S ! {x, other}, S ! {x, S},
    A = receive {x, P} when P =:= self() -> mine end, {A, receive {x, Q} when Q =/= self() -> Q end}.
l_later_first() -> self() ! a, self() ! b, receive b -> ok end, receive X -> X after 0 -> none end.
l_after_with_message() -> self() ! a, receive a -> a after 0 -> late end.
l_timeout_idle() -> receive never -> never after 10 -> late end.
l_timeout_other_message() -> self() ! a, receive never -> never after 10 -> receive X -> {late, X} end end.
l_triangle() ->
    S = self(), C = spawn(fun() -> receive go -> S ! m2 end end),
    go(fun() -> S ! m1, d(), C ! go end), [get1(), get1()].
l_relay() ->
    S = self(), R = go(fun() -> receive M -> S ! {relayed, M} end end),
    go(fun() -> R ! m, d(), S ! direct end), lists:sort([get1(), get1()]).
l_relay_order() ->
    S = self(), R = go(fun() -> receive M -> S ! {relayed, M} end end),
    go(fun() -> R ! m, d(), S ! direct end), [get1(), get1()].
l_ring() ->
    S = self(), C = spawn(fun() -> receive X -> S ! X + 1 end end), B = spawn(fun() -> receive X -> C ! X + 1 end end),
    B ! 0, get1().
l_echo_two() ->
    E = spawn(fun F() -> receive {P, M} -> P ! M, F() end end),
    S = self(), [go(fun() -> E ! {S, N} end) || N <- [1, 2]], [get1(), get1()].
l_dead_letter() -> {P, R} = watched(fun() -> ok end), why({P, R}), P ! x, sent.
l_send_returns() -> P = go(fun() -> receive stop -> ok end end), X = P ! stop, X.
l_send_3() -> S = self(), go(fun() -> S ! erlang:send(S, a, [noconnect]) end), [get1(), get1()].
l_bad_target() -> caught(fun() -> "name" ! x end).
l_alias() -> A = alias(), S = self(), go(fun() -> A ! one, S ! sent end), d(), unalias(A), receive one -> one; sent -> none end.
l_alias_reply() -> A = alias([reply]), S = self(), go(fun() -> A ! one, A ! two, S ! sent end), receive sent -> ok end,
    {receive one -> one after 0 -> none end, receive two -> two after 0 -> none end}.
l_alias_unalias_twice() -> A = alias(), {unalias(A), unalias(A)}.
l_alias_dead_owner() -> S = self(), {P, R} = watched(fun() -> S ! alias() end), A = receive X when is_reference(X) -> X end,
    why({P, R}), A ! x, sent.
l_queue_len() ->
    S = self(), {P, R} = watched(fun() -> S ! a, S ! b end), why({P, R}), element(2, process_info(self(), message_queue_len)).
l_queue_len_race() ->
    S = self(), go(fun() -> S ! a, d(), S ! b end), d(), element(2, process_info(self(), message_queue_len)).
l_store_buffering() -> %% Each reads its mailbox after it has sent; not both can see nothing.
    S = self(),
    A = spawn(fun() -> receive {p, B} -> B ! x, S ! {a, receive x -> 1 after 0 -> 0 end} end end),
    B = spawn(fun() -> receive {p, C} -> C ! x, S ! {b, receive x -> 1 after 0 -> 0 end} end end),
    A ! {p, B}, B ! {p, A},
    {receive {a, X} -> X end, receive {b, Y} -> Y end}.
l_hibernate() -> S = self(), P = go(fun() -> erlang:hibernate(?MODULE, woken, [S]) end), P ! x, get1().
woken(S) -> receive X -> S ! {woken, X} end.
l_hibernate_catch() -> S = self(), {P, R} = watched(fun() -> catch erlang:hibernate(?MODULE, fails, []), S ! returned end), P ! x, why({P, R}).
fails() -> exit(failed).
l_nested_receive() -> S = self(), go(fun() -> S ! b, S ! a end), receive a -> receive b -> ab end end.
l_fun_guard_self() -> F = fun(P) when P =:= self() -> me; (_) -> other end, S = self(), go(fun() -> S ! F(S) end), {F(S), get1()}.
