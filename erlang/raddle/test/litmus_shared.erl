%% Litmus programs about shared state: tables, timers, persistent terms, counters.
-module(litmus_shared).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

two(F) -> S = self(), [go(fun() -> F(N), S ! done end) || N <- [1, 2]], [receive done -> ok end || _ <- [1, 2]].

l_ets_update() -> T = ets:new(t, [public]), ets:insert(T, {k, 0}), two(fun(_) -> [{k, V}] = ets:lookup(T, k), d(), ets:insert(T, {k, V + 1}) end), ets:lookup(T, k).
l_ets_counter() -> T = ets:new(t, [public]), ets:insert(T, {k, 0}), two(fun(_) -> ets:update_counter(T, k, 1) end), ets:lookup(T, k).
l_ets_insert_new() -> T = ets:new(t, [public]), S = self(), two(fun(N) -> S ! ets:insert_new(T, {k, N}) end), {lists:sort([get1(), get1()]), ets:lookup(T, k)}.
l_ets_two_keys() -> T = ets:new(t, [public]), go(fun() -> ets:insert(T, {a, 1}), d(), ets:insert(T, {b, 1}) end), d(), B = ets:member(T, b), A = ets:member(T, a), {A, B}.
l_ets_two_keys_read() -> T = ets:new(t, [public]), go(fun() -> ets:insert(T, {a, 1}), d(), ets:insert(T, {b, 1}) end), d(), A = ets:member(T, a), d(), B = ets:member(T, b), {A, B}.
l_ets_list_atomic() -> T = ets:new(t, [public]), go(fun() -> ets:insert(T, [{a, 1}, {b, 1}]) end), d(), A = ets:member(T, a), B = ets:member(T, b), {A, B}.
l_ets_tab2list() -> T = ets:new(t, [public]), go(fun() -> ets:insert(T, {a, 1}), ets:insert(T, {b, 1}) end), d(), lists:sort(ets:tab2list(T)).
l_ets_size() -> T = ets:new(t, [public]), go(fun() -> ets:insert(T, {a, 1}), ets:insert(T, {b, 1}) end), d(), ets:info(T, size).
l_ets_take() -> T = ets:new(t, [public]), ets:insert(T, {k, 1}), S = self(), two(fun(_) -> S ! ets:take(T, k) end), lists:sort([get1(), get1()]).
l_ets_select_delete() -> T = ets:new(t, [public]), ets:insert(T, [{a, 1}, {b, 2}]), S = self(),
    two(fun(_) -> S ! ets:select_delete(T, [{{'_', '_'}, [], [true]}]) end), lists:sort([get1(), get1()]).
l_ets_next() -> T = ets:new(t, [public, ordered_set]), ets:insert(T, [{1}, {3}]), go(fun() -> ets:insert(T, {2}) end), d(), ets:next(T, 1).
l_ets_delete_race() -> T = ets:new(t, [public]), ets:insert(T, {k, 1}), go(fun() -> ets:delete(T, k) end), d(), caught(fun() -> ets:lookup_element(T, k, 2) end).
l_ets_owner_dies() -> S = self(), {P, R} = watched(fun() -> S ! ets:new(t, [public]), receive stop -> ok end end), T = receive X when is_reference(X) -> X end, P ! stop, why({P, R}),
    {ets:info(T), caught(fun() -> ets:lookup(T, x) end)}.
l_ets_owner_dies_race() -> S = self(), P = go(fun() -> T = ets:new(t, [public]), ets:insert(T, {x, 1}), S ! T end), T = get1(), d(), _ = P, caught(fun() -> ets:lookup(T, x) end).
l_ets_named_race() -> S = self(), {P, R} = watched(fun() -> ets:new(litmus_tab, [named_table, public]), S ! up, receive stop -> ok end end), d(),
    X = caught(fun() -> ets:lookup(litmus_tab, x) end), receive up -> ok end, P ! stop, why({P, R}), X.
l_ets_named_twice() -> S = self(), [spawn(fun() -> d(), S ! caught(fun() -> ets:new(litmus_two, [named_table]) end), receive stop -> ok end end) || _ <- [1, 2]],
    X = lists:sort([get1(), get1()]), P = ets:info(litmus_two, owner), M = monitor(process, P), P ! stop, receive {'DOWN', M, _, _, _} -> ok end, X.
l_ets_protected() -> T = ets:new(t, []), S = self(), go(fun() -> S ! caught(fun() -> ets:insert(T, {a, 1}) end) end), get1().
l_ets_protected_read() -> T = ets:new(t, []), ets:insert(T, {a, 1}), S = self(), go(fun() -> S ! caught(fun() -> ets:lookup(T, a) end) end), get1().
l_ets_private() -> T = ets:new(t, [private]), S = self(), go(fun() -> S ! caught(fun() -> ets:lookup(T, a) end) end), get1().
l_ets_heir() -> S = self(), {P, R} = watched(fun() -> ets:new(t, [{heir, S, data}]) end), receive {'ETS-TRANSFER', T, P, data} -> ok end, why({P, R}), ets:info(T, owner) =:= S.
l_ets_heir_before_down() -> S = self(), {P, R} = watched(fun() -> ets:new(t, [{heir, S, data}]) end), [case get1() of {'ETS-TRANSFER', _, P, _} -> table; {'DOWN', R, _, _, _} -> down end || _ <- [1, 2]].
l_ets_give_away() -> S = self(), P = go(fun() -> receive {'ETS-TRANSFER', T, S, x} -> ets:insert(T, {k, 1}), S ! ok, receive stop -> ok end end end), T = ets:new(t, []), ets:give_away(T, P, x),
    receive ok -> ok end, X = ets:lookup(T, k), Y = caught(fun() -> ets:insert(T, {l, 1}) end), P ! stop, {X, Y}.
l_ets_bag() -> T = ets:new(t, [public, bag]), two(fun(N) -> ets:insert(T, {k, N}) end), ets:lookup(T, k).
l_ets_fold() -> T = ets:new(t, [public]), ets:insert(T, [{1}, {2}]), ets:foldl(fun({N}, A) -> N + A end, 0, T).
l_ets_match() -> T = ets:new(t, [public]), ets:insert(T, [{a, 1}, {b, 2}]), {ets:match(T, {'$1', 2}), ets:match_object(T, {a, '_'}), ets:select_count(T, [{{'_', '_'}, [], [true]}])}.
l_ets_update_element() -> T = ets:new(t, [public]), ets:insert(T, {k, 0, 0}), S = self(), two(fun(N) -> ets:update_element(T, k, {N + 1, N}), S ! ok end), ets:lookup(T, k).
l_store_buffering() -> T = ets:new(t, [public]), ets:insert(T, [{x, 0}, {y, 0}]), S = self(),
    go(fun() -> ets:insert(T, {x, 1}), d(), S ! {a, ets:lookup_element(T, y, 2)} end), go(fun() -> ets:insert(T, {y, 1}), d(), S ! {b, ets:lookup_element(T, x, 2)} end),
    {receive {a, A} -> A end, receive {b, B} -> B end}.
l_message_passing() -> T = ets:new(t, [public]), S = self(), go(fun() -> ets:insert(T, {x, 1}), S ! ready end), receive ready -> ets:lookup(T, x) end.

l_timer_order() -> erlang:send_after(30, self(), b), erlang:send_after(5, self(), a), [get1(), get1()].
l_timer_cancel() -> T = erlang:send_after(0, self(), tick), d(), case erlang:cancel_timer(T) of false -> {late, receive tick -> tick end}; N when is_integer(N) -> {early, none()} end.
l_timer_cancel_long() -> T = erlang:send_after(1000000, self(), tick), X = erlang:cancel_timer(T), {is_integer(X) andalso X > 900000, erlang:cancel_timer(T)}.
l_timer_start() -> R = erlang:start_timer(1, self(), x), receive {timeout, R, x} -> ok end.
l_timer_read() -> T = erlang:send_after(1000000, self(), tick), X = erlang:read_timer(T), erlang:cancel_timer(T), {X > 900000, erlang:read_timer(T)}.
l_timer_name() -> register(litmus_timer, self()), erlang:send_after(1, litmus_timer, tick), X = get1(), unregister(litmus_timer), X.
l_timer_dead() -> {P, R} = watched(fun() -> ok end), why({P, R}), erlang:send_after(1, P, tick), none().
l_timer_race() -> S = self(), erlang:send_after(0, S, tick), go(fun() -> S ! m end), [get1(), get1()].
l_timer_async_cancel() -> T = erlang:send_after(1000000, self(), tick), ok = erlang:cancel_timer(T, [{async, true}]), receive {cancel_timer, T, X} -> is_integer(X) end.
l_timer_module() -> {ok, _} = timer:send_after(1, tick), get1().
l_sleep_order() -> S = self(), go(fun() -> timer:sleep(60), S ! b end), go(fun() -> timer:sleep(5), S ! a end), [get1(), get1()].
l_time_goes_on() -> A = erlang:monotonic_time(millisecond), timer:sleep(10), B = erlang:monotonic_time(millisecond), B - A >= 10.

l_persistent() -> persistent_term:put(litmus_p, 0), go(fun() -> persistent_term:put(litmus_p, 1) end), d(), X = persistent_term:get(litmus_p), timer:sleep(1), persistent_term:erase(litmus_p), X.
l_persistent_none() -> {caught(fun() -> persistent_term:get(litmus_none) end), persistent_term:get(litmus_none, default)}.
l_counters() -> C = counters:new(1, []), two(fun(_) -> V = counters:get(C, 1), d(), counters:put(C, 1, V + 1) end), counters:get(C, 1).
l_counters_add() -> C = counters:new(1, []), two(fun(_) -> counters:add(C, 1, 1) end), counters:get(C, 1).
l_atomics_exchange() -> A = atomics:new(1, []), S = self(), two(fun(_) -> S ! atomics:compare_exchange(A, 1, 0, 1) end), lists:sort([get1(), get1()]).
l_timer_name_moved() -> %% A timer whose target name moves from one process to another.
    S = self(), [A, B] = [spawn(fun() -> receive tick -> S ! {got, N} after 20 -> S ! {got, none} end end) || N <- [a, b]], register(litmus_tm, A), erlang:send_after(0, litmus_tm, tick),
    {_, R} = watched(fun() -> catch unregister(litmus_tm), d(), catch register(litmus_tm, B) end), X = lists:sort([receive {got, Y} -> Y end || _ <- [1, 2]]), why({x, R}), catch unregister(litmus_tm), X.
