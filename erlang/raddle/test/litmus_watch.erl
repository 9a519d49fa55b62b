%% Litmus programs about monitors, names and process information.
-module(litmus_watch).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

l_monitor_dying() -> P = go(fun() -> ok end), d(), R = monitor(process, P), receive {'DOWN', R, process, P, W} -> W end.
l_monitor_dead() -> {P, R} = watched(fun() -> ok end), why({P, R}), Q = monitor(process, P), receive {'DOWN', Q, process, P, W} -> W end.
l_monitor_name_none() -> R = monitor(process, litmus_nobody), receive {'DOWN', R, process, {N, _}, W} -> {N, W} end.
l_monitor_name() -> S = self(), {P, R} = watched(fun() -> register(litmus_a, self()), S ! up, receive stop -> exit(bye) end end),
    receive up -> ok end, Q = monitor(process, litmus_a), P ! stop, why({P, R}), receive {'DOWN', Q, process, {N, _}, W} -> {N, W} end.
l_monitor_self() -> R = monitor(process, self()), demonitor(R), none().
l_monitor_twice() -> P = go(fun() -> d() end), [begin R = monitor(process, P), R end || _ <- [1, 2]], [begin {'DOWN', _, _, _, W} = get1(), W end || _ <- [1, 2]].
l_message_before_down() -> S = self(), {_, R} = spawn_monitor(fun() -> S ! m, exit(e) end),
    [case get1() of {'DOWN', R, _, _, W} -> W; X -> X end || _ <- [1, 2]].
l_demonitor() -> P = go(fun() -> ok end), R = monitor(process, P), d(), demonitor(R), receive {'DOWN', R, _, _, _} -> down after 20 -> none end.
l_demonitor_flush() -> P = go(fun() -> ok end), R = monitor(process, P), d(), demonitor(R, [flush]), receive {'DOWN', R, _, _, _} -> down after 20 -> none end.
l_demonitor_info() -> P = go(fun() -> ok end), R = monitor(process, P), d(), I = demonitor(R, [info]), {I, receive {'DOWN', R, _, _, _} -> down after 0 -> none end}.
l_demonitor_flush_info() -> P = go(fun() -> ok end), R = monitor(process, P), d(), I = demonitor(R, [flush, info]), {I, receive {'DOWN', R, _, _, _} -> down after 0 -> none end}.
l_demonitor_unknown() -> {demonitor(make_ref()), demonitor(make_ref(), [info]), demonitor(make_ref(), [flush, info])}.
l_monitor_tag() -> {_, R} = {x, monitor(process, go(fun() -> exit(e) end), [{tag, gone}])}, receive {gone, R, process, _, W} -> lists:member(W, [e, noproc]) end.
l_monitor_alias_reply() -> S = self(), P = go(fun() -> receive {A, M} -> A ! {re, M}, S ! sent, receive stop -> ok end end end),
    R = monitor(process, P, [{alias, reply_demonitor}]), P ! {R, x}, receive sent -> ok end, X = receive {re, x} -> re after 0 -> none end,
    P ! stop, {X, receive {'DOWN', R, _, _, _} -> down after 20 -> none end}.
l_monitor_alias_demonitor() -> P = go(fun() -> receive {A, S} -> d(), A ! late, S ! sent end end), R = monitor(process, P, [{alias, demonitor}]), P ! {R, self()}, d(),
    demonitor(R, [flush]), receive sent -> ok end, receive late -> late after 0 -> none end.
l_monitor_alias_explicit() -> P = go(fun() -> receive {A, S} -> A ! late, S ! sent end end), R = monitor(process, P, [{alias, explicit_unalias}]), P ! {R, self()},
    demonitor(R, [flush]), receive sent -> ok end, receive late -> late after 0 -> none end.
l_two_watchers() -> S = self(), P = spawn(fun() -> receive go -> exit(e) end end),
    [spawn(fun() -> R = monitor(process, P), S ! ready, receive {'DOWN', R, _, _, W} -> S ! {N, W} end end) || N <- [1, 2]],
    [receive ready -> ok end || _ <- [1, 2]], P ! go, [get1(), get1()].
l_spawn_monitor_order() -> A = watched(fun() -> a end), B = watched(fun() -> b end), {_, RA} = A, {_, RB} = B,
    [receive {'DOWN', RA, _, _, _} -> a; {'DOWN', RB, _, _, _} -> b end || _ <- [1, 2]].

l_register_race() -> S = self(), [spawn(fun() -> d(), S ! caught(fun() -> register(litmus_n, self()) end), receive stop -> ok end end) || _ <- [1, 2]],
    X = lists:sort([get1(), get1()]), P = whereis(litmus_n), M = monitor(process, P), exit(P, kill), why({P, M}), X.
l_whereis_race() -> S = self(), {P, R} = watched(fun() -> register(litmus_w, self()), S ! up, receive stop -> ok end end), d(),
    X = whereis(litmus_w) =:= P, receive up -> ok end, P ! stop, why({P, R}), {X, whereis(litmus_w)}.
l_name_freed() -> S = self(), {P, R} = watched(fun() -> register(litmus_f, self()), S ! up, receive stop -> ok end end),
    receive up -> ok end, P ! stop, why({P, R}), X = register(litmus_f, self()), unregister(litmus_f), X.
l_name_freed_race() -> S = self(), {P, R} = watched(fun() -> register(litmus_g, self()), S ! up, receive stop -> ok end end),
    receive up -> ok end, P ! stop, d(), X = caught(fun() -> register(litmus_g, self()) end), why({P, R}), catch unregister(litmus_g), X.
l_send_no_name() -> caught(fun() -> litmus_no_name ! x end).
l_send_no_name_node() -> {litmus_no_name, node()} ! x, sent.
l_send_name_race() -> S = self(), {P, R} = watched(fun() -> register(litmus_s, self()), receive m -> S ! got after 20 -> S ! late end end), d(),
    X = caught(fun() -> litmus_s ! m end), Y = get1(), why({P, R}), {X, Y}.
l_unregister_race() -> S = self(), register(litmus_u, self()), [go(fun() -> S ! caught(fun() -> unregister(litmus_u) end) end) || _ <- [1, 2]], lists:sort([get1(), get1()]).
l_register_twice() -> register(litmus_t, self()), X = caught(fun() -> register(litmus_t2, self()) end), unregister(litmus_t), X.
l_register_dead() -> {P, R} = watched(fun() -> ok end), why({P, R}), caught(fun() -> register(litmus_d, P) end).
l_register_undefined() -> caught(fun() -> register(undefined, self()) end).
l_send_name_moved() -> %% A name that moves from one process to another during a send.
    S = self(), A = spawn(fun() -> receive m -> S ! a end end), B = spawn(fun() -> receive m -> S ! b end end), register(litmus_m, A),
    go(fun() -> catch unregister(litmus_m), register(litmus_m, B), S ! moved end), d(),
    X = caught(fun() -> litmus_m ! m end), receive moved -> ok end, catch unregister(litmus_m),
    Y = case X of m -> receive a -> a; b -> b end; _ -> none end, [exit(P, kill) || P <- [A, B]], {X, Y}.
l_registered() -> register(litmus_r, self()), X = lists:member(litmus_r, registered()), unregister(litmus_r), X.
l_dictionary() -> put(a, 1), put(b, 2), X = lists:sort([K || {K, _} <- get(), K =:= a orelse K =:= b]), erase(a), {X, get(a), get(b)}.
l_erase_all() -> put(litmus, 1), [V || {litmus, V} <- erase()] ++ [K || K <- get_keys(), K =:= litmus].
l_group_leader() -> S = self(), G = group_leader(), go(fun() -> S ! group_leader() =:= G end), get1().
l_links_info() -> process_flag(trap_exit, true), P = spawn_link(fun() -> receive stop -> ok end end), {links, L} = process_info(self(), links), X = lists:member(P, L), P ! stop, X.
l_monitored_by() -> S = self(), P = go(fun() -> receive stop -> ok end end), monitor(process, P), X = process_info(P, monitored_by), P ! stop, X =:= {monitored_by, [S]}.
l_pid_text() -> P = self(), list_to_pid(pid_to_list(P)) =:= P.
l_apply() -> {apply(erlang, self, []) =:= self(), (fun erlang:self/0)() =:= self(), apply(fun(X) -> X end, [1])}.
l_unique() -> A = erlang:unique_integer([monotonic]), B = erlang:unique_integer([monotonic]), {A < B, make_ref() =:= make_ref()}.
idle() -> spawn(fun() -> receive stop -> ok end end).
l_register_two_names() -> S = self(), P = idle(), [go(fun() -> S ! {N, caught(fun() -> register(N, P) end)} end) || N <- [litmus_ra, litmus_rb]],
    X = lists:sort([get1(), get1()]), M = monitor(process, P), P ! stop, why({P, M}), X.
l_rename() -> P = idle(), register(litmus_rc, P), {_, R} = watched(fun() -> unregister(litmus_rc) end), d(), X = caught(fun() -> register(litmus_rd, P) end),
    why({x, R}), M = monitor(process, P), P ! stop, why({P, M}), X.
l_info_links() -> P = idle(), {Q, R} = watched(fun() -> link(P), receive stop -> ok end end), d(), {links, X} = process_info(P, links), Q ! stop, why({Q, R}), P ! stop, length(X).
l_info_own_links() -> S = self(), {Q, R} = watched(fun() -> link(S), receive stop -> ok end end), d(), {links, X} = process_info(S, links), Q ! stop, why({Q, R}), length(X).
l_info_monitored() -> P = idle(), {Q, R} = watched(fun() -> monitor(process, P), receive stop -> ok end end), d(), {monitored_by, X} = process_info(P, monitored_by), Q ! stop, why({Q, R}), P ! stop, length(X).
l_info_returned() -> P = spawn(fun() -> ok end), d(), case process_info(P, dictionary) of undefined -> gone; {dictionary, _} -> there end.
l_info_returned_mail() -> P = spawn(fun() -> ok end), P ! m, case process_info(P, message_queue_len) of undefined -> gone; {_, N} -> N end.
