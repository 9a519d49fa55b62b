%% Litmus programs about the ends of processes: links, exit signals, traps, and catchable exceptions.
-module(litmus_exits).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

l_reason() -> why(watched(fun() -> exit(boom) end)).
l_error() -> why(watched(fun() -> error(bad) end)).
l_throw() -> why(watched(fun() -> throw(t) end)).
l_badarith() -> why(watched(fun() -> 1 / list_to_integer("0") end)).
l_badmatch() -> why(watched(fun() -> 1 = list_to_integer("2") end)).
l_function_clause() -> why(watched(fun() -> (fun(1) -> ok end)(list_to_integer("2")) end)).
l_undef() -> why(watched(fun() -> no_such_module_here:f() end)).
l_normal() -> why(watched(fun() -> ok end)).
l_exit_normal_ignored() -> {P, R} = watched(fun() -> receive stop -> stopped end end), exit(P, normal), P ! stop, why({P, R}).
l_exit_self_normal() -> why(watched(fun() -> exit(self(), normal), exit(survived) end)).
l_exit_self() -> why(watched(fun() -> exit(self(), foo), exit(survived) end)).
l_exit_self_caught() -> why(watched(fun() -> catch exit(self(), foo), exit(survived) end)).
l_exit_self_trap() -> why(watched(fun() -> process_flag(trap_exit, true), exit(self(), foo), receive {'EXIT', _, X} -> exit({got, X}) end end)).
l_exit_caught() -> why(watched(fun() -> catch exit(foo), exit(survived) end)).
l_kill() -> {P, R} = watched(fun() -> process_flag(trap_exit, true), receive never -> ok end end), d(), exit(P, kill), why({P, R}).
l_kill_catcher() -> {P, R} = watched(fun() -> forever() end), exit(P, kill), why({P, R}).
forever() -> try receive never -> ok end catch _:_ -> forever() end.
l_exit_signal() -> {P, R} = watched(fun() -> receive never -> ok end end), exit(P, foo), why({P, R}).
l_trap_race() -> S = self(), {P, R} = watched(fun() -> process_flag(trap_exit, true), receive {'EXIT', S, X} -> exit({trapped, X}) end end),
    d(), exit(P, foo), why({P, R}).
l_untrap_race() -> {P, R} = watched(fun() -> process_flag(trap_exit, true), d(), process_flag(trap_exit, false), receive after 10 -> exit(late) end end),
    d(), exit(P, foo), why({P, R}).
l_kill_link_not_kill() -> process_flag(trap_exit, true), P = spawn_link(fun() -> receive never -> ok end end), exit(P, kill), receive {'EXIT', P, W} -> W end.
l_kill_reason_by_link() -> why(watched(fun() -> spawn_link(fun() -> exit(kill) end), receive never -> ok end end)).
l_kill_reason_trapped() -> process_flag(trap_exit, true), P = spawn_link(fun() -> exit(kill) end), receive {'EXIT', P, W} -> W end.
l_link_chain() -> why(watched(fun() -> spawn_link(fun() -> spawn_link(fun() -> exit(deep) end), receive never -> ok end end), receive never -> ok end end)).
l_link_killed() -> why(watched(fun() -> P = spawn_link(fun() -> receive never -> ok end end), exit(P, kill), receive never -> ok end end)).
l_link_normal() -> why(watched(fun() -> spawn_link(fun() -> ok end), receive after 10 -> exit(alive) end end)).
l_link_trap_normal() -> process_flag(trap_exit, true), P = spawn_link(fun() -> d() end), receive {'EXIT', P, W} -> W end.
l_link_dying_trap() -> process_flag(trap_exit, true), P = go(fun() -> exit(boom) end), d(), link(P), receive {'EXIT', P, W} -> W end.
l_link_dead() -> {P, R} = watched(fun() -> ok end), why({P, R}), caught(fun() -> link(P) end).
l_link_dead_trap() -> process_flag(trap_exit, true), {P, R} = watched(fun() -> ok end), why({P, R}), {caught(fun() -> link(P) end), receive {'EXIT', P, W} -> W end}.
l_link_dying() -> S = self(), {P, R} = watched(fun() -> Q = go(fun() -> exit(boom) end), d(), link(Q), S ! linked, receive never -> ok end end),
    W = why({P, R}), {W, receive linked -> linked after 0 -> not_linked end}.
l_unlink() -> process_flag(trap_exit, true), P = spawn_link(fun() -> d(), exit(x) end), d(), unlink(P), receive {'EXIT', P, W} -> W after 20 -> none end.
l_unlink_flush() -> process_flag(trap_exit, true), P = spawn_link(fun() -> d(), exit(x) end), d(), unlink(P),
    A = receive {'EXIT', P, _} -> flushed after 0 -> nothing end, {A, none()}.
l_unlink_race_dies() -> why(watched(fun() -> P = spawn_link(fun() -> d(), exit(x) end), d(), unlink(P), exit(survived) end)).
l_link_twice_unlink_once() -> process_flag(trap_exit, true), P = spawn_link(fun() -> receive go -> exit(x) end end), link(P), unlink(P), P ! go, none().
l_link_self() -> link(self()), {links, L} = process_info(self(), links), L.
l_both_die() -> process_flag(trap_exit, true), A = spawn_link(fun() -> d(), exit(a) end), B = spawn_link(fun() -> d(), exit(b) end),
    [receive {'EXIT', P, W} when P =:= A; P =:= B -> W end || _ <- [1, 2]].
l_message_before_exit() -> process_flag(trap_exit, true), S = self(), P = spawn_link(fun() -> S ! m, exit(e) end),
    [case get1() of {'EXIT', P, W} -> W; X -> X end || _ <- [1, 2]].
l_link_and_monitor() -> process_flag(trap_exit, true), P = go(fun() -> receive go -> exit(e) end end), link(P), R = monitor(process, P), P ! go,
    [case get1() of {'EXIT', P, _} -> exit; {'DOWN', R, _, _, _} -> down end || _ <- [1, 2]].
l_exit_then_message() -> {P, R} = watched(fun() -> process_flag(trap_exit, true), receive go -> ok end, [get1(), get1()], exit([case M of {'EXIT', _, W} -> W; _ -> M end || M <- [x]]) end),
    exit(P, foo), P ! go, P ! m, plain(why({P, R})).
l_spawn_link_order() -> S = self(), why(watched(fun() -> spawn_link(fun() -> S ! c, exit(x) end), receive never -> ok end end)).
l_spawn_opt_link() -> process_flag(trap_exit, true), {P, R} = spawn_opt(fun() -> exit(z) end, [link, monitor]),
    lists:sort([case get1() of {'EXIT', P, W} -> {e, W}; {'DOWN', R, _, _, W} -> {d, W} end || _ <- [1, 2]]).
l_alive_race() -> P = go(fun() -> ok end), d(), is_process_alive(P).
l_alive_after_down() -> {P, R} = watched(fun() -> ok end), why({P, R}), {is_process_alive(P), process_info(P, links)}.
l_alive_after_kill() -> P = go(fun() -> receive never -> ok end end), exit(P, kill), is_process_alive(P).
l_two_killers() -> {P, R} = watched(fun() -> receive never -> ok end end), go(fun() -> exit(P, a) end), go(fun() -> exit(P, b) end), why({P, R}).
l_catch_all() -> why(watched(fun() -> try exit(a) catch _:_ -> exit(b) end end)).
l_after_runs() -> S = self(), {P, R} = watched(fun() -> try exit(a) after S ! cleaned end end), why({P, R}), get1().
l_after_not_on_kill() -> S = self(), {P, R} = watched(fun() -> try S ! up, receive never -> ok end after S ! cleaned end end),
    receive up -> ok end, exit(P, kill), why({P, R}), receive cleaned -> cleaned after 0 -> not_cleaned end.
l_flag_returns() -> {process_flag(trap_exit, true), process_flag(trap_exit, false), process_flag(trap_exit, false)}.
l_exit_badarg() -> caught(fun() -> exit(not_a_pid, x) end).
l_killed_sends() -> S = self(), P = go(fun() -> S ! 1, d(), S ! 2 end), d(), exit(P, kill), M = monitor(process, P), receive {'DOWN', M, _, _, _} -> ok end,
    {receive 1 -> 1 after 0 -> no end, receive 2 -> 2 after 0 -> no end}.
l_kill_before_table() -> T = ets:new(t, [public]), {P, R} = watched(fun() -> ets:insert(T, {k, 1}) end), d(), exit(P, kill), W = why({P, R}), {W, ets:lookup(T, k)}.
l_kill_before_name() -> register(litmus_kn, self()), {P, R} = watched(fun() -> litmus_kn ! m end), d(), exit(P, kill), W = why({P, R}), unregister(litmus_kn), {W, receive m -> m after 0 -> none end}.
l_kill_before_register() -> S = self(), {P, R} = watched(fun() -> register(litmus_kr, S) end), d(), exit(P, kill), W = why({P, R}), {W, caught(fun() -> unregister(litmus_kr) end)}.
l_kill_before_exit() -> {Q, M} = watched(fun() -> receive stop -> ok end end), {P, R} = watched(fun() -> exit(Q, hit) end), d(), exit(P, kill), W = why({P, R}), Q ! stop, {W, why({Q, M})}.
l_kill_after_table() -> T = ets:new(t, [public]), {P, R} = watched(fun() -> ets:insert(T, {k, 1}), receive never -> ok end end), d(), exit(P, kill), W = why({P, R}), {W, ets:lookup(T, k)}.
l_kill_between_tables() -> T = ets:new(t, [public]), S = self(), {P, R} = watched(fun() -> ets:insert(T, {k, 1}), ets:insert(T, {l, 1}), S ! m, ets:insert(T, {n, 1}) end), d(),
    exit(P, kill), W = why({P, R}), {W, receive m -> m after 0 -> none end, lists:sort(ets:tab2list(T))}.
l_kill_by_other() -> T = ets:new(t, [public]), {P, R} = watched(fun() -> ets:insert(T, {k, 1}) end), go(fun() -> exit(P, kill) end), W = why({P, R}), {W, ets:lookup(T, k)}.
