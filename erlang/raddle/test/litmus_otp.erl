%% Litmus programs with OTP behaviours, whose own code runs under control.
-module(litmus_otp).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

%% ---- a server, and a supervisor
init({sup, Strategy, Children}) -> {ok, {{Strategy, 3, 10}, [{N, {?MODULE, start_child, [N]}, permanent, 100, worker, []} || N <- Children]}};
init(stops) -> {stop, no};
init(ignores) -> ignore;
init(dies) -> exit(died);
init(State) -> {ok, State}.
start_child(N) -> gen_server:start_link({local, N}, ?MODULE, 0, []).
handle_call(get, _, S) -> {reply, S, S};
handle_call({set, V}, _, _) -> {reply, ok, V};
handle_call(later, From, S) -> spawn(fun() -> gen_server:reply(From, later) end), {noreply, S};
handle_call(die, _, _) -> exit(boom);
handle_call(stop, _, S) -> {stop, normal, stopped, S};
handle_call(never, _, S) -> {noreply, S};
handle_call(timeout, _, S) -> {reply, ok, S, 5}.
handle_cast({add, N}, S) -> {noreply, S + N};
handle_cast({tell, P}, S) -> P ! {state, S}, {noreply, S};
handle_cast(die, _) -> exit(boom).
handle_info(timeout, _) -> {noreply, timed_out};
handle_info(continue, S) -> {noreply, S, {continue, x}};
handle_info(_, S) -> {noreply, S}.
handle_continue(x, _) -> {noreply, continued}.
terminate(_, S) when is_pid(S) -> S ! terminated;
terminate(_, _) -> ok.
server(S) -> {ok, P} = gen_server:start(?MODULE, S, []), P.
stop(P) -> M = monitor(process, P), exit(P, kill), receive {'DOWN', M, _, _, _} -> ok end.

l_call() -> P = server(7), X = gen_server:call(P, get), stop(P), X.
l_lost_update() -> P = server(0), S = self(), [go(fun() -> V = gen_server:call(P, get), ok = gen_server:call(P, {set, V + 1}), S ! ok end) || _ <- [1, 2]],
    [receive ok -> ok end || _ <- [1, 2]], X = gen_server:call(P, get), stop(P), X.
l_casts() -> P = server(0), S = self(), [go(fun() -> gen_server:cast(P, {add, N}), S ! ok end) || N <- [1, 2]], [receive ok -> ok end || _ <- [1, 2]], X = gen_server:call(P, get), stop(P), X.
l_cast_race() -> P = server(0), go(fun() -> gen_server:cast(P, {add, 1}) end), d(), X = gen_server:call(P, get), stop(P), X.
l_cast_then_call() -> P = server(0), gen_server:cast(P, {add, 1}), X = gen_server:call(P, get), stop(P), X.
l_call_noproc() -> caught(fun() -> element(1, catch_exit(fun() -> gen_server:call(litmus_nobody, hi) end)) end).
catch_exit(F) -> try F(), {none} catch exit:{R, _} -> {plain(R)} end.
l_call_dies() -> P = server(0), catch_exit(fun() -> gen_server:call(P, die) end).
l_call_dead() -> P = server(0), stop(P), catch_exit(fun() -> gen_server:call(P, get) end).
l_call_timeout() -> P = server(0), X = catch_exit(fun() -> gen_server:call(P, never, 10) end), stop(P), X.
l_call_killed() -> P = server(0), go(fun() -> exit(P, kill) end), d(), catch_exit(fun() -> exit({gen_server:call(P, get), x}) end).
l_call_stop() -> P = server(0), M = monitor(process, P), X = gen_server:call(P, stop), receive {'DOWN', M, _, _, W} -> {X, W} end.
l_call_later() -> P = server(0), X = gen_server:call(P, later), stop(P), X.
l_stop() -> P = server(self()), ok = gen_server:stop(P), get1().
l_stop_call() -> P = server(0), go(fun() -> gen_server:stop(P) end), d(), catch_exit(fun() -> exit({gen_server:call(P, get), x}) end).
l_start_stops() -> gen_server:start(?MODULE, stops, []).
l_start_ignores() -> gen_server:start(?MODULE, ignores, []).
l_start_dies() -> gen_server:start(?MODULE, dies, []).
l_start_link_stops() -> process_flag(trap_exit, true), X = gen_server:start_link(?MODULE, stops, []), {X, receive {'EXIT', _, W} -> W after 20 -> none end}.
l_start_name_race() -> S = self(), [spawn(fun() -> d(), S ! case gen_server:start({local, litmus_gs}, ?MODULE, 0, []) of {ok, _} -> ok; {error, {already_started, P}} -> is_pid(P) end end) || _ <- [1, 2]],
    X = lists:sort([get1(), get1()]), stop(whereis(litmus_gs)), X.
l_server_timeout() -> P = server(0), ok = gen_server:call(P, timeout), timer:sleep(50), X = gen_server:call(P, get), stop(P), X.
l_continue() -> P = server(0), P ! continue, X = gen_server:call(P, get), stop(P), X.
l_multi_call_state() -> P = server(1), S = self(), gen_server:cast(P, {tell, S}), gen_server:cast(P, {add, 1}), gen_server:cast(P, {tell, S}), X = [get1(), get1()], stop(P), X.
l_send_request() -> P = server(3), R = gen_server:send_request(P, get), {reply, X} = gen_server:wait_response(R, infinity), stop(P), X.
l_sys_state() -> P = server(9), X = sys:get_state(P), sys:replace_state(P, fun(S) -> S + 1 end), Y = sys:get_state(P), stop(P), {X, Y}.
l_sys_suspend() -> P = server(0), sys:suspend(P), gen_server:cast(P, {tell, self()}), X = receive {state, _} -> told after 10 -> suspended end, sys:resume(P), Y = get1(), stop(P), {X, Y}.
l_linked_server_dies() -> process_flag(trap_exit, true), {ok, P} = gen_server:start_link(?MODULE, 0, []), gen_server:cast(P, die), receive {'EXIT', P, W} -> plain(W) end.

l_proc_lib() -> S = self(), {ok, P} = proc_lib:start_link(?MODULE, acks, [S]), {get1(), is_pid(P)}.
acks(S) -> proc_lib:init_ack({ok, self()}), S ! after_ack.
l_proc_lib_fails() -> process_flag(trap_exit, true), R = proc_lib:start_link(?MODULE, fails, []), {R, receive {'EXIT', _, W} -> W after 20 -> none end}.
fails() -> exit(nope).

sup(Strategy, Names) -> {ok, S} = supervisor:start_link(?MODULE, {sup, Strategy, Names}), S.
down(S) -> unlink(S), M = monitor(process, S), exit(S, shutdown), receive {'DOWN', M, _, _, W} -> W end.
l_sup_restart() -> S = sup(one_for_one, [litmus_c1]), P = whereis(litmus_c1), stop(P), _ = supervisor:which_children(S), Q = whereis(litmus_c1), X = is_pid(Q) andalso Q =/= P, {X, down(S)}.
l_sup_whereis_race() -> S = sup(one_for_one, [litmus_c2]), P = whereis(litmus_c2), stop(P), X = case whereis(litmus_c2) of undefined -> gone; Q when Q =/= P -> back end, {X, down(S)}.
l_sup_call_race() -> S = sup(one_for_one, [litmus_c3]), exit(whereis(litmus_c3), kill), X = catch_exit(fun() -> exit({gen_server:call(litmus_c3, get), x}) end), down(S), X.
l_sup_one_for_all() -> S = sup(one_for_all, [litmus_c4, litmus_c5]), A = whereis(litmus_c4), B = whereis(litmus_c5), stop(A), _ = supervisor:which_children(S), X = {whereis(litmus_c4) =/= A, whereis(litmus_c5) =/= B}, {X, down(S)}.
l_sup_count() -> S = sup(one_for_one, [litmus_c6]), X = proplists:get_value(active, supervisor:count_children(S)), down(S), X.
l_sup_terminate() -> S = sup(one_for_one, [litmus_c7]), ok = supervisor:terminate_child(S, litmus_c7), X = whereis(litmus_c7), {ok, P} = supervisor:restart_child(S, litmus_c7), Y = whereis(litmus_c7) =:= P, down(S), {X, Y}.
l_sup_order() -> S = sup(one_for_one, [litmus_c8, litmus_c9]), M1 = monitor(process, litmus_c8), M2 = monitor(process, litmus_c9), down(S), [receive {'DOWN', M1, _, _, _} -> first; {'DOWN', M2, _, _, _} -> second end || _ <- [1, 2]].
l_sup_too_often() -> process_flag(trap_exit, true), S = sup(one_for_one, [litmus_c10]), storm(S, litmus_c10), receive {'EXIT', S, W} -> W end.
storm(S, Name) -> case whereis(Name) of undefined -> case is_process_alive(S) of true -> timer:sleep(1), storm(S, Name); false -> ok end; P -> stop(P), storm(S, Name) end.
