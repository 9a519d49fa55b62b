%% Generated actor programs with a larger vocabulary than raddle_actors: nested children, every access to
%% tables, aliases of each kind, selective receives, OTP behaviours. A program is a list of scripts, the first
%% of which the main process executes; its outcome is everything that its processes have observed, and the
%% names and tables that are left.
-module(raddle_wide).
-export([program/3, run/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

%% Returns the program of a seed, with this many workers and actions each.
program(Seed, Workers, Actions) ->
    R0 = rand:seed_s(exsss, {Seed, 7, 13}),
    {Themes, R1} = draws(1 + Seed rem 2, themes(), R0),
    Theme = lists:append(Themes),
    {Main, R2} = script(rem1(Seed, Actions), [A || A <- Theme, not fatal(A)], R1),
    {Scripts, _} = lists:mapfoldl(fun(_, R) -> script(Actions, Theme, R) end, R2, lists:seq(1, Workers)),
    [Main | Scripts].

rem1(Seed, Actions) -> case Seed rem 3 of 0 -> 0; 1 -> 1; 2 -> min(2, Actions) end.

draws(N, List, R) -> lists:mapfoldl(fun(_, R1) -> pick(List, R1) end, R, lists:seq(1, N)).
pick(List, Rand) -> {N, Next} = rand:uniform_s(length(List), Rand), {lists:nth(N, List), Next}.
script(N, Theme, R) ->
    lists:mapfoldl(fun(_, R1) ->
                       {A, R2} = pick(Theme, R1),
                       case A of
                           {child, How} -> {S, R3} = draws(1, [X || X <- Theme, is_atom(X) orelse element(1, X) =/= child], R2), {{child, How, S}, R3};
                           _ -> {A, R2}
                       end
                   end, R, lists:seq(1, N)).

fatal(A) -> lists:member(A, [stop, {exit, last, kill}, {exit, last, hit}, {exit, first, kill}, {exit, self, kill}, {exit, self, normal}, {exit, self, hit}, {link, last}, {link, first}, crash, hibernate,
                             {linked, last}, {child, link}, spawn_link_server]).

themes() ->
    Ps = [first, last],
    Mail = [{send, P, M} || P <- Ps, M <- [a, b]] ++ [{recv, a, 0}, {recv, any, 0}, {recv, b, 5}, {recv, a, 5}, {recv, any, 10}, {send, self, a}],
    Names = [{reg, n, P} || P <- [self | Ps]] ++ [{reg, m, self}, {unreg, n}, {whereis, n}, {send, n, a}, {send, {n, node}, b}, registered, {pinfo, first, registered_name}, {monitor, n}, {recv, any, 0}],
    Tab = [{new, named, [public]}, {new, named, [protected]}, {new, named, [ordered_set, public]}, {del, named}, {ets, insert, k}, {ets, insert, l}, {ets, insert_new, k}, {ets, update_counter, k},
           {ets, lookup, k}, {ets, match_delete}, {ets, select}, {ets, select_count}, {ets, tab2list}, {ets, first}, {ets, insert_both}, {ets, insert_new_both}, {ets, info}, {ets, take, k}, {ets, delete, k}, {ets, next, k},
           {ets, delete_all}, {ets, select_delete}, {ets, member, k}, {ets, lookup_element, k}, {ets, update_element, k}, {ets, foldl}, {ets, chunk}, {ets, select_replace}],
    Own = [{new, named, [public]}, {new, named, [protected, heir]}, {new, named, [private]}, {new, named, [public, heir_last]}, {del, named}, {ets, insert, k}, {ets, lookup, k}, {ets, info}, {ets, info, owner}, {ets, info, heir},
           {ets, info, size}, {ets, info, protection}, {ets, setopts, none}, {ets, setopts, first}, {give, first}, {give, last}, stop, {exit, last, kill}, {exit, first, kill}, {recv, any, 0}, {ets, all}, trap, {ets, fix}],
    Anon = [{new, anon, [public]}, {new, anon, [protected]}, {new, anon, [public, heir]}, {pass, first}, {pass, last}, {get_table, 0}, {get_table, 5}, {anon, insert}, {anon, lookup}, {anon, delete}, {anon, list}, {anon, info}, {anon, give}, stop, {exit, last, kill}],
    Ends = [{link, P} || P <- Ps] ++ [{unlink, first}, trap, untrap, {exit, first, kill}, {exit, last, hit}, {exit, last, normal}, {exit, self, normal}, {exit, self, kill}, {alive, first}, {alive, last}, stop, crash, {recv, any, 0}, {recv, exit, 5}],
    Kids = [{child, plain}, {child, link}, {child, monitor}, {child, request}, {child, alias}, {kid, alive}, {kid, kill}, {kid, unlink}, {kid, info}, {kid, demonitor}, {kid, send}, {recv, any, 0}, {recv, down, 5}, trap, processes, {recv, any, 5}],
    Watch = [{monitor, first}, {monitor, last}, {monitor, n}, {reg, n, self}, {demonitor, []}, {demonitor, [flush]}, {demonitor, [info]}, {demonitor, [flush, info]}, {exit, first, kill}, stop, {recv, any, 0}, {recv, down, 5}, {pinfo, first, monitored_by}, {pinfo, self, monitors}, {monitor_tag, last}],
    Alias = [{alias, explicit_unalias, P} || P <- Ps] ++ [{alias, demonitor, first}, {alias, reply_demonitor, first}, {alias, reply_demonitor, last}, {make_alias, []}, {make_alias, [reply]}, unalias, {demonitor, []}, {demonitor, [flush, info]}, reply, reply, {recv, any, 0}, {recv, any, 5}, stop, {exit, first, kill}, {pinfo, first, messages}],
    Timer = [{timer, P, T} || P <- [self | Ps], T <- [0, 5]] ++ [{timer, n, 5}, {reg, n, self}, {start_timer, self, 0}, {cancel, []}, {cancel, [{async, true}]}, {cancel, [{info, false}]}, read_timer, {recv, any, 0}, {recv, any, 5}, {recv, none, 5}, {recv, none, 0}, stop, clock, {pass_timer, last}, get_timer],
    Info = [{pinfo, P, I} || P <- Ps, I <- [links, messages, message_queue_len, dictionary, trap_exit, status]] ++ [{put, x}, {put, y}, erase, trap, {link, last}, {send, first, a}, {recv, a, 0}, processes, {lead, last}, leader, stop, {exit, last, kill}, registered],
    Shared = [{pt, put}, {pt, get}, {pt, erase}, {cnt, add, 1}, {cnt, add, 2}, {cnt, get, 1}, {cnt, put, 1}, {atom, cas}, {atom, add_get}, {atom, exchange}, {atom, get}, {env, set}, {env, get}, unique, {send, first, a}, {recv, any, 0}],
    Server = [{gs, start}, {gs, start_named}, {gs, call, get}, {gs, call, {set, 1}}, {gs, call, add}, {gs, cast, add}, {gs, cast, die}, {gs, call, later}, {gs, stop}, {gs, short}, {recv, any, 0}, {gs, call, die}],
    Statics = [hibernate, {flag, priority}, {recv, any, 0}, {send, first, a}, {send, last, b}, yield, {recv, a, infinity}, {child, plain}],
    [Mail, Names, Tab, Own, Anon, Ends, Kids, Watch, Alias, Timer, Info, Shared, Server, Statics,
     Tab ++ Own, Names ++ Ends, Names ++ Own, Ends ++ Watch, Kids ++ Ends, Alias ++ Ends, Timer ++ Mail, Timer ++ Ends, Own ++ Anon ++ Ends, Kids ++ Watch ++ Alias, Info ++ Kids, Info ++ Names ++ Own].

-record(w, {pids, array, log = [], mon = none, timer = none, alias = none, kid = none, kidmon = none, tab = none, counter}).

run([Main | Scripts]) ->
    process_flag(trap_exit, true),
    Array = counters:new(2, []),
    Atoms = atomics:new(1, []),
    Self = self(),
    W0 = #w{array = Array, counter = Atoms},
    {Workers, Pids0} = lists:mapfoldl(fun(Script, Pids) ->
                                          {Pid, _} = Worker = spawn_monitor(fun() -> work(Script, W0#w{pids = Pids}) end),
                                          {Worker, Pids ++ [Pid]}
                                      end, [Self], Scripts),
    Log = main(Main, W0#w{pids = tl(Pids0) ++ [Self]}),
    Ends = [receive {'DOWN', Monitor, process, _, Why} -> plain(Why, Pids0) end || {_, Monitor} <- Workers],
    {plain(Log, Pids0), Ends, rest(Pids0), [N || N <- [n, m, wide_server], lists:member(N, registered())], lists:member(wide_t, ets:all())}.

main([], #w{log = Log}) -> lists:reverse(Log);
main([A | Rest], #w{log = Log} = W) ->
    {Seen, New} = try act(A, W) catch C:Why -> {{C, Why}, W} end,
    main(Rest, New#w{log = [{A, Seen} | Log]}).

rest(Pids) ->
    receive Message -> [plain(Message, Pids) | rest(Pids)]
    after 0 -> []
    end.

work([], #w{log = Log, pids = Pids}) -> exit({log, plain(lists:reverse(Log), Pids ++ [self()])});
work([hibernate | Script], W) -> erlang:hibernate(erlang, apply, [fun work/2, [Script, W]]);
work([Action | Script], #w{log = Log} = W) ->
    {Seen, New} = try act(Action, W) catch error:Why -> {{error, Why}, W}; exit:Why when element(1, Why) =/= stopped -> {{exit, Why}, W} end,
    work(Script, New#w{log = [{Action, Seen} | Log]}).

plain(Pid, Pids) when is_pid(Pid) -> {pid, length(lists:takewhile(fun(Other) -> Other =/= Pid end, Pids))};
plain(Reference, _) when is_reference(Reference) -> reference;
plain([{_, _, _, [{file, _} | _]} | _], _) -> stack;
plain([{_, _, _, []} | _], _) -> stack;
plain([Head | Tail], Pids) -> [plain(Head, Pids) | plain(Tail, Pids)];
plain({N, Node}, _) when Node =:= node(), is_atom(N) -> {N, node};
plain({monitored_by, L}, Pids) -> {monitored_by, lists:sort(plain(L, Pids))};
plain({monitors, L}, Pids) -> {monitors, lists:sort(plain(L, Pids))};
plain({links, L}, Pids) -> {links, lists:sort(plain(L, Pids))};
plain({messages, L}, Pids) -> {messages, [X || X <- plain(L, Pids), case X of {reference, {_, _}} -> false; _ -> true end]};
plain(Tuple, Pids) when is_tuple(Tuple) -> list_to_tuple(plain(tuple_to_list(Tuple), Pids));
plain(Fun, _) when is_function(Fun) -> function;
plain(#{} = Map, Pids) -> plain(lists:sort(maps:to_list(Map)), Pids);
plain(Term, _) -> Term.

p(first, #w{pids = [P | _]}) -> P;
p(last, #w{pids = Ps}) -> lists:last(Ps);
p(self, _) -> self();
p({n, node}, _) -> {n, node()};
p(Name, _) when is_atom(Name) -> Name.

n(W) -> length(W#w.log).

act({send, P, M}, W) -> {p(P, W) ! {M, n(W)}, W};
act({recv, none, T}, W) -> {receive after T -> none end, W};
act({recv, any, T}, W) -> {receive M -> M after T -> none end, W};
act({recv, a, infinity}, W) -> {receive {a, _} = M -> M after 50 -> none end, W};
act({recv, a, T}, W) -> {receive {a, _} = M -> M after T -> none end, W};
act({recv, b, T}, W) -> {receive {b, _} = M -> M after T -> none end, W};
act({recv, exit, T}, W) -> {receive {'EXIT', _, _} = M -> M after T -> none end, W};
act({recv, down, T}, W) -> {receive {'DOWN', _, _, _, _} = M -> M after T -> none end, W};

act({reg, N, P}, W) -> {register(N, p(P, W)), W};
act({unreg, N}, W) -> {unregister(N), W};
act({whereis, N}, W) -> {whereis(N), W};
act(registered, W) -> {[N || N <- [n, m], lists:member(N, registered())], W};
act({pinfo, P, status}, W) -> {process_info(p(P, W), status) =/= undefined, W};
act({pinfo, P, I}, W) -> {process_info(p(P, W), I), W};
act(processes, W) -> {length(processes()), W};

act({new, Kind, Options}, #w{pids = [F | _] = Ps} = W) ->
    O = [case X of heir -> {heir, F, data}; heir_last -> {heir, lists:last(Ps), data}; _ -> X end || X <- Options],
    case Kind of
        named -> {ets:new(wide_t, [named_table | O]), W};
        anon -> T = ets:new(wide_u, O), {made, W#w{tab = T}}
    end;
act({del, named}, W) -> {ets:delete(wide_t), W};
act({give, P}, W) -> {ets:give_away(wide_t, p(P, W), given), W};
act({ets, insert, K}, W) -> {ets:insert(wide_t, {K, n(W)}), W};
act({ets, insert_new, K}, W) -> {ets:insert_new(wide_t, {K, n(W)}), W};
act({ets, update_counter, K}, W) -> {ets:update_counter(wide_t, K, 1, {K, 10}), W};
act({ets, update_element, K}, W) -> {ets:update_element(wide_t, K, {2, 77}), W};
act({ets, lookup, K}, W) -> {ets:lookup(wide_t, K), W};
act({ets, member, K}, W) -> {ets:member(wide_t, K), W};
act({ets, lookup_element, K}, W) -> {ets:lookup_element(wide_t, K, 2), W};
act({ets, take, K}, W) -> {ets:take(wide_t, K), W};
act({ets, delete, K}, W) -> {ets:delete(wide_t, K), W};
act({ets, next, K}, W) -> {ets:next(wide_t, K), W};
act({ets, first}, W) -> {ets:first(wide_t), W};
act({ets, tab2list}, W) -> {ets:tab2list(wide_t), W};
act({ets, foldl}, W) -> {ets:foldl(fun(X, A) -> [X | A] end, [], wide_t), W};
act({ets, chunk}, W) ->
    {case ets:select(wide_t, [{'$1', [], ['$1']}], 1) of
         {L, C} -> {L, case ets:select(C) of {L2, _} -> L2; E -> E end};
         E -> E
     end, W};
act({ets, select}, W) -> {ets:select(wide_t, [{{'$1', '$2'}, [{'>', '$2', 0}], ['$1']}]), W};
act({ets, select_count}, W) -> {ets:select_count(wide_t, [{{k, '_'}, [], [true]}]), W};
act({ets, select_delete}, W) -> {ets:select_delete(wide_t, [{{'_', '$1'}, [{'>', '$1', 0}], [true]}]), W};
act({ets, select_replace}, W) -> {ets:select_replace(wide_t, [{{'$1', '$2'}, [], [{{'$1', {'+', '$2', 100}}}]}]), W};
act({ets, match_delete}, W) -> {ets:match_delete(wide_t, {k, '_'}), W};
act({ets, delete_all}, W) -> {ets:delete_all_objects(wide_t), W};
act({ets, insert_both}, W) -> {ets:insert(wide_t, [{k, n(W)}, {l, n(W)}]), W};
act({ets, insert_new_both}, W) -> {ets:insert_new(wide_t, [{k, n(W)}, {m, n(W)}]), W};
act({ets, info}, W) -> {case ets:info(wide_t) of undefined -> none; I -> [lists:keyfind(K, 1, I) || K <- [size, owner, protection, heir]] end, W};
act({ets, info, I}, W) -> {ets:info(wide_t, I), W};
act({ets, setopts, none}, W) -> {ets:setopts(wide_t, {heir, none}), W};
act({ets, setopts, P}, W) -> {ets:setopts(wide_t, {heir, p(P, W), again}), W};
act({ets, all}, W) -> {lists:member(wide_t, ets:all()), W};
act({ets, fix}, W) -> {ets:safe_fixtable(wide_t, true), W};
act({pass, P}, #w{tab = T} = W) when T =/= none -> p(P, W) ! {tab, T}, {passed, W};
act({pass, _}, W) -> act({new, anon, [public]}, W);
act({get_table, Time}, W) -> receive {tab, T} -> {tab, W#w{tab = T}} after Time -> {none, W} end;
act({anon, insert}, #w{tab = T} = W) -> {ets:insert(T, {k, n(W)}), W};
act({anon, lookup}, #w{tab = T} = W) -> {ets:lookup(T, k), W};
act({anon, delete}, #w{tab = T} = W) -> {ets:delete(T), W};
act({anon, list}, #w{tab = T} = W) -> {ets:tab2list(T), W};
act({anon, info}, #w{tab = T} = W) -> {ets:info(T, owner), W};
act({anon, give}, #w{tab = T} = W) -> {ets:give_away(T, p(first, W), given), W};

act({link, P}, W) -> {link(p(P, W)), W};
act({unlink, P}, W) -> {unlink(p(P, W)), W};
act(trap, W) -> {process_flag(trap_exit, true), W};
act(untrap, W) -> {process_flag(trap_exit, false), W};
act({exit, P, Why}, #w{pids = Ps} = W) ->
    case p(P, W) of
        Pid when Pid =:= hd(Ps), length(Ps) =:= 1, Why =:= kill -> {main, W};
        Pid when hd(Ps) =:= Pid, Why =:= kill, P =:= first -> {exit(lists:last(Ps), hit), W};
        Pid -> {exit(Pid, Why), W}
    end;
act({alive, P}, W) -> {is_process_alive(p(P, W)), W};
act(stop, W) -> exit({stopped, plain(lists:reverse(W#w.log), W#w.pids ++ [self()])});
act(crash, W) -> exit({stopped, crash, plain(lists:reverse(W#w.log), W#w.pids ++ [self()])});

act({child, How, Script}, W) ->
    Array = W#w.array,
    Body = fun() -> work(Script, #w{pids = W#w.pids, array = Array, counter = W#w.counter, tab = W#w.tab, alias = W#w.alias}) end,
    case How of
        plain -> {spawned, W#w{kid = spawn(Body)}};
        link -> {spawned, W#w{kid = spawn_link(Body)}};
        monitor -> {P, M} = spawn_monitor(Body), {spawned, W#w{kid = P, kidmon = M}};
        request -> R = spawn_request(Body, [monitor, {reply, error_only}]), {spawned, W#w{kidmon = R}};
        alias -> {P, M} = spawn_opt(Body, [{monitor, [{alias, reply_demonitor}]}]), P ! {reply, M}, {spawned, W#w{kid = P, kidmon = M}}
    end;
act({kid, _}, #w{kid = none} = W) -> {none, W};
act({kid, alive}, W) -> {is_process_alive(W#w.kid), W};
act({kid, kill}, W) -> {exit(W#w.kid, kill), W};
act({kid, unlink}, W) -> {unlink(W#w.kid), W};
act({kid, send}, W) -> {W#w.kid ! {a, n(W)}, W};
act({kid, info}, W) -> {process_info(W#w.kid, [links, monitored_by]), W};
act({kid, demonitor}, #w{kidmon = none} = W) -> {none, W};
act({kid, demonitor}, W) -> {demonitor(W#w.kidmon, [flush, info]), W};

act({monitor, P}, W) -> {monitor, W#w{mon = monitor(process, p(P, W))}};
act({monitor_tag, P}, W) -> {monitor, W#w{mon = monitor(process, p(P, W), [{tag, {my, tag}}])}};
act({demonitor, _}, #w{mon = none} = W) -> act({monitor, last}, W);
act({demonitor, O}, #w{mon = M} = W) -> {demonitor(M, O), W};

act({alias, Mode, P}, W) ->
    A = monitor(process, p(P, W), [{alias, Mode}]),
    (p(last, W)) ! {reply, A},
    {alias, W#w{alias = A, mon = A}};
act({make_alias, O}, W) -> A = alias(O), (p(last, W)) ! {reply, A}, {alias, W#w{alias = A}};
act(unalias, #w{alias = none} = W) -> act({make_alias, []}, W);
act(unalias, #w{alias = A} = W) -> {unalias(A), W};
act(reply, W) -> {receive {reply, A} -> A ! {m, n(W)}, replied after 0 -> case W#w.alias of none -> none; A -> A ! {m, self}, self end end, W};

act({timer, P, T}, W) -> {timer, W#w{timer = erlang:send_after(T, p(P, W), {tick, n(W)})}};
act({start_timer, P, T}, W) -> {timer, W#w{timer = erlang:start_timer(T, p(P, W), tock)}};
act({cancel, _}, #w{timer = none} = W) -> {none, W};
act({cancel, O}, #w{timer = T} = W) -> {erlang:cancel_timer(T, O), W};
act(read_timer, #w{timer = none} = W) -> {none, W};
act(read_timer, #w{timer = T} = W) -> {erlang:read_timer(T), W};
act({pass_timer, _}, #w{timer = none} = W) -> act({timer, self, 5}, W);
act({pass_timer, P}, #w{timer = T} = W) -> p(P, W) ! {timer, T}, {passed, W};
act(get_timer, W) -> receive {timer, T} -> {timer, W#w{timer = T}} after 0 -> {none, W} end;
act(clock, W) -> {erlang:convert_time_unit(erlang:monotonic_time(), native, millisecond) rem 1000, W};

act({put, K}, W) -> {put(K, n(W)), W};
act(erase, W) -> {erase(x), W};
act({lead, P}, W) -> {group_leader(self(), p(P, W)), W};
act(leader, W) -> {lists:member(group_leader(), W#w.pids), W};

act({pt, put}, W) -> {persistent_term:put(wide_p, n(W)), W};
act({pt, get}, W) -> {persistent_term:get(wide_p, none), W};
act({pt, erase}, W) -> {persistent_term:erase(wide_p), W};
act({cnt, add, I}, W) -> {counters:add(W#w.array, I, 1), W};
act({cnt, put, I}, W) -> {counters:put(W#w.array, I, n(W)), W};
act({cnt, get, I}, W) -> {counters:get(W#w.array, I), W};
act({atom, cas}, W) -> {atomics:compare_exchange(W#w.counter, 1, 0, n(W) + 1), W};
act({atom, add_get}, W) -> {atomics:add_get(W#w.counter, 1, 5), W};
act({atom, exchange}, W) -> {atomics:exchange(W#w.counter, 1, 100), W};
act({atom, get}, W) -> {atomics:get(W#w.counter, 1), W};
act({env, set}, W) -> {application:set_env(wide, a, n(W)), W};
act({env, get}, W) -> {application:get_env(wide, a), W};
act(unique, W) -> {erlang:unique_integer([monotonic]), W};
act(yield, W) -> {erlang:yield(), W};
act({flag, priority}, W) -> {process_flag(priority, high), W};
act(hibernate, W) -> {none, W};

act({gs, start}, W) -> case gen_server:start(?MODULE, 0, []) of {ok, _} -> {started, W}; E -> {E, W} end;
act({gs, start_named}, W) -> case gen_server:start({local, wide_server}, ?MODULE, 0, []) of {ok, _} -> {started, W}; {error, {already_started, _}} -> {already, W} end;
act({gs, call, M}, W) -> {gen_server:call(wide_server, M, 50), W};
act({gs, short}, W) -> {gen_server:call(wide_server, get, 1), W};
act({gs, cast, M}, W) -> {gen_server:cast(wide_server, M), W};
act({gs, stop}, W) -> {gen_server:stop(wide_server, normal, 50), W}.

init(N) -> {ok, {N, none}}.
handle_call(get, _, {N, _} = S) -> {reply, N, S};
handle_call({set, V}, _, {N, F}) -> {reply, N, {V, F}};
handle_call(add, _, {N, F}) -> {reply, N + 1, {N + 1, F}};
handle_call(die, _, S) -> {stop, died, dying, S};
handle_call(later, From, {N, none}) -> {noreply, {N, From}};
handle_call(later, From, {N, Other}) -> gen_server:reply(Other, both), {reply, both, {N, From}}.
handle_cast(add, {N, F}) -> {noreply, {N + 1, F}};
handle_cast(die, S) -> {stop, cast, S}.
handle_info(_, S) -> {noreply, S}.
terminate(_, _) -> ok.
