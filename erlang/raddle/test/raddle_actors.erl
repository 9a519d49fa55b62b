%% Generated actor programs. A program is a list of scripts, one for each worker; its outcome is how each
%% worker ended, which includes all its observations unless others ended it, and the messages to the main
%% process.
-module(raddle_actors).
-export([scripts/3, run/1]).

%% Returns the scripts of a seed, with this many workers and actions each.
scripts(Seed, Workers, Actions) ->
    %% All programs of a seed have a theme, so that their actions interact.
    {Theme, Rand} = pick(themes(), rand:seed_s(exsss, Seed)),
    {Scripts, _} = lists:mapfoldl(fun(_, R) -> lists:mapfoldl(fun(_, R1) -> pick(Theme, R1) end, R, lists:seq(1, Actions)) end,
                                  Rand, lists:seq(1, Workers)),
    Scripts.

pick(List, Rand) ->
    {N, Next} = rand:uniform_s(length(List), Rand),
    {lists:nth(N, List), Next}.

themes() ->
    Mail = [send, poll, poll, wait, send_main],
    Names = [register, register_first, unregister, whereis, send_name, registered],
    Tables = [new, new_heir, delete, insert, insert_other, lookup, list, size, owner, give, all],
    Ends = [link, unlink, trap, kill, hit, alive, stop],
    Watches = [monitor, monitor_name, demonitor, kill, hit, poll],
    Timers = [timer, timer_first, timer_now, cancel, read, wait, poll, send],
    Aliases = [alias, alias_reply, unalias, reply, reply, poll],
    Looks = [alive, links, queue, dictionary, put, processes, leader, lead, poll, send, kill],
    Shared = [put_term, get_term, add, add_other, get, unique, set_env, get_env],
    [Mail, Names, Tables, Ends, Watches, Timers, Aliases, Looks, Shared,
     Mail ++ Names, Names ++ Ends, Tables ++ [kill, hit, trap], Ends ++ Watches, Timers ++ Ends, Aliases ++ Watches, Looks ++ Ends,
     [new, delete, insert, lookup, poll, send], [register, unregister, send_name, poll, monitor_name, kill], Mail ++ Shared].

-record(w, {first, pids, array, log = [], monitor = none, timer = none, alias = none, child = none}).

run(Scripts) ->
    Array = counters:new(2, []),
    Main = self(),
    {Workers, _} = lists:mapfoldl(fun(Script, Pids) ->
                                      {Pid, _} = Worker = spawn_monitor(fun() -> work(Script, #w{first = hd(Pids), pids = Pids, array = Array}) end),
                                      {Worker, [Pid | Pids]}
                                  end, [Main], Scripts),
    Pids = [Pid || {Pid, _} <- lists:reverse(Workers)] ++ [Main],
    Ends = [receive {'DOWN', Monitor, process, _, Why} -> plain(Why, Pids) end || {_, Monitor} <- Workers],
    {Ends, rest(Pids)}.

rest(Pids) ->
    receive Message -> [plain(Message, Pids) | rest(Pids)]
    after 0 -> []
    end.

work([], #w{log = Log, pids = Pids}) -> exit({log, plain(lists:reverse(Log), [self() | Pids])});
work([Action | Script], #w{log = Log} = W) ->
    {Seen, New} = try act(Action, W) catch error:Why -> {{error, Why}, W} end,
    work(Script, New#w{log = [{Action, Seen} | Log]}).

%% Terms without pids, references and stacks.
plain(Pid, Pids) when is_pid(Pid) -> {pid, length(lists:takewhile(fun(Other) -> Other =/= Pid end, lists:reverse(Pids)))};
plain(Reference, _) when is_reference(Reference) -> reference;
plain([{_, _, _, [{file, _} | _]} | _], _) -> stack;
plain([Head | Tail], Pids) -> [plain(Head, Pids) | plain(Tail, Pids)];
plain(Tuple, Pids) when is_tuple(Tuple) -> list_to_tuple(plain(tuple_to_list(Tuple), Pids));
plain(Term, _) -> Term.

act(send, #w{first = P} = W) -> {P ! {m, length(W#w.log)}, W};
act(send_main, #w{pids = Pids} = W) -> {lists:last(Pids) ! {m, length(W#w.log)}, W};
act(poll, W) -> {receive Message -> Message after 0 -> none end, W};
act(wait, W) -> {receive {m, _} = Message -> Message after 5 -> none end, W};

act(register, W) -> {register(actors_a, self()), W};
act(register_first, #w{first = P} = W) -> {register(actors_a, P), W};
act(unregister, W) -> {unregister(actors_a), W};
act(whereis, W) -> {whereis(actors_a), W};
act(send_name, W) -> {actors_a ! named, W};
act(registered, W) -> {lists:member(actors_a, registered()), W};

act(new, W) -> {ets:new(actors_t, [named_table, public]), W};
act(new_heir, #w{first = P} = W) -> {ets:new(actors_t, [named_table, protected, {heir, P, data}]), W};
act(delete, W) -> {ets:delete(actors_t), W};
act(insert, W) -> {ets:insert(actors_t, {k, length(W#w.log)}), W};
act(insert_other, W) -> {ets:insert(actors_t, {l, length(W#w.log)}), W};
act(lookup, W) -> {ets:lookup(actors_t, k), W};
act(list, W) -> {ets:tab2list(actors_t), W};
act(size, W) -> {ets:info(actors_t, size), W};
act(owner, W) -> {ets:info(actors_t, owner), W};
act(give, #w{first = P} = W) -> {ets:give_away(actors_t, P, given), W};
act(all, W) -> {lists:member(actors_t, ets:all()), W};

act(link, #w{first = P} = W) -> {link(P), W};
act(unlink, #w{first = P} = W) -> {unlink(P), W};
act(trap, W) -> {process_flag(trap_exit, true), W};
act(kill, #w{pids = [_]} = W) -> {main, W};
act(kill, #w{first = P} = W) -> {exit(P, kill), W};
act(hit, #w{pids = [_]} = W) -> {main, W};
act(hit, #w{first = P} = W) -> {exit(P, hit), W};
act(stop, W) -> exit({stopped, plain(lists:reverse(W#w.log), [self() | W#w.pids])});
act(alive, #w{first = P} = W) -> {is_process_alive(P), W};

act(monitor, #w{first = P} = W) -> {monitor, W#w{monitor = monitor(process, P)}};
act(monitor_name, W) -> {monitor, W#w{monitor = monitor(process, actors_a)}};
act(demonitor, #w{monitor = none} = W) -> act(monitor, W);
act(demonitor, #w{monitor = Reference} = W) -> {demonitor(Reference, [info]), W};

act(timer, W) -> {timer, W#w{timer = erlang:send_after(5, self(), tick)}};
act(timer_now, W) -> {timer, W#w{timer = erlang:send_after(0, self(), tick)}};
act(timer_first, #w{first = P} = W) -> {timer, W#w{timer = erlang:send_after(0, P, tick)}};
act(cancel, #w{timer = none} = W) -> act(timer_first, W);
act(cancel, #w{timer = Timer} = W) -> {erlang:cancel_timer(Timer), W};
act(read, #w{timer = none} = W) -> act(timer_now, W);
act(read, #w{timer = Timer} = W) -> {erlang:read_timer(Timer), W};

act(alias, #w{first = P} = W) -> Alias = alias(), P ! {reply, Alias}, {alias, W#w{alias = Alias}};
act(alias_reply, #w{first = P, pids = Pids} = W) ->
    Alias = monitor(process, P, [{alias, reply_demonitor}]),
    lists:last(Pids) =:= P orelse (P ! {reply, Alias}),
    {alias, W#w{alias = Alias, monitor = Alias}};
act(unalias, #w{alias = none} = W) -> act(alias, W);
act(unalias, #w{alias = Alias} = W) -> {unalias(Alias), W};
act(reply, #w{child = none, alias = Alias} = W) when Alias =/= none -> {child, W#w{child = spawn(fun() -> Alias ! {m, child} end)}};
act(reply, W) -> {receive {reply, Alias} -> Alias ! {m, reply} after 0 -> none end, W};

act(links, #w{first = P} = W) -> {process_info(P, links), W};
act(queue, #w{first = P} = W) -> {process_info(P, message_queue_len), W};
act(dictionary, #w{first = P} = W) -> {process_info(P, dictionary), W};
act(put, W) -> {put(actors, length(W#w.log)), W};
act(processes, W) -> {length(processes()), W};
act(leader, #w{pids = Pids} = W) -> {lists:member(group_leader(), Pids), W};
act(lead, #w{first = P} = W) -> {group_leader(self(), P), W};

act(put_term, W) -> {persistent_term:put(actors_p, length(W#w.log)), W};
act(get_term, W) -> {persistent_term:get(actors_p, none), W};
act(add, #w{array = Array} = W) -> {counters:add(Array, 1, 1), W};
act(add_other, #w{array = Array} = W) -> {counters:add(Array, 2, 1), W};
act(get, #w{array = Array} = W) -> {counters:get(Array, 1), W};
act(unique, W) -> {erlang:unique_integer([monotonic]), W};
act(set_env, W) -> {application:set_env(actors, a, length(W#w.log)), W};
act(get_env, W) -> {application:get_env(actors, a), W}.
