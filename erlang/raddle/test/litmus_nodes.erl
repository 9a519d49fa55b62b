%% Litmus programs about nodes that fail and lines that break, on three nodes. A real VM cannot fail on
%% request, so these are compared only with the documentation of erlang and net_kernel; the words after a
%% program quote what allows its outcomes.
-module(litmus_nodes).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

-define(B, 'b@raddle').
-define(C, 'c@raddle').

forever() -> receive never -> ok end.
on(Node, F) -> spawn(Node, F).
word(Tag) -> receive {Tag, X} -> X end.
%% The messages of a broken line: everything up to the loss, in order.
all_until(M) -> receive {'DOWN', M, process, _, W} -> [W]; X -> [X | all_until(M)] end.

%% ---- a node crashes

l_crash_monitor() -> P = on(?B, fun forever/0), M = monitor(process, P), raddle:crash(?B), receive {'DOWN', M, process, P, W} -> W end.
l_crash_link() -> process_flag(trap_exit, true), P = spawn_link(?B, fun forever/0), raddle:crash(?B), receive {'EXIT', P, W} -> W end.
l_crash_link_kills() -> S = self(), {_, M} = spawn_monitor(fun() -> spawn_link(?B, fun forever/0), S ! up, forever() end), receive up -> ok end,
    raddle:crash(?B), receive {'DOWN', M, _, _, W} -> W end.
l_crash_name() -> S = self(), on(?B, fun() -> register(n, self()), S ! up, forever() end), receive up -> ok end,
    M = monitor(process, {n, ?B}), raddle:crash(?B), receive {'DOWN', M, process, {n, N}, W} -> {N, W} end.
l_crash_race_exit() -> {P, M} = spawn_monitor(?B, fun() -> exit(own) end), raddle:crash(?B), receive {'DOWN', M, process, P, W} -> W end.
l_crash_before_monitor() -> P = on(?B, fun forever/0), spawn(fun() -> raddle:crash(?B) end), M = monitor(process, P),
    receive {'DOWN', M, process, P, W} -> W end.
l_crash_in_flight() -> %% Two messages are in transit: those that arrive are the first ones.
    S = self(), {P, M} = spawn_monitor(?B, fun() -> S ! 1, S ! 2, on(?C, fun() -> ok end), forever() end), _ = P,
    raddle:crash(?B), all_until(M).
l_crash_in_flight_known() -> %% A third node knows that the message was sent, and yet it may be lost.
    S = self(), C = on(?C, fun() -> receive sent -> S ! known end end),
    {_, M} = spawn_monitor(?B, fun() -> S ! m, C ! sent, forever() end), receive known -> ok end, raddle:crash(?B), all_until(M).
l_crash_in_flight_name() -> %% The same, to a name.
    S = self(), register(litmus_crash, S), C = on(?C, fun() -> receive sent -> S ! known end end),
    {_, M} = spawn_monitor(?B, fun() -> {litmus_crash, node(S)} ! m, C ! sent, forever() end), receive known -> ok end,
    raddle:crash(?B), X = all_until(M), unregister(litmus_crash), X.
l_crash_down_before_nodedown() -> %% Links and monitors first, then the message about the node.
    net_kernel:monitor_nodes(true), P = on(?B, fun forever/0), M = monitor(process, P), raddle:crash(?B),
    [case get1() of {'DOWN', M, _, _, W} -> W; {nodedown, N} -> N end || _ <- [1, 2]].
l_crash_two_watchers() -> %% The order of the two notifications is open.
    S = self(), P = on(?B, fun forever/0),
    [spawn(fun() -> M = monitor(process, P), S ! ready, receive {'DOWN', M, _, _, W} -> S ! {I, W} end end) || I <- [1, 2]],
    [receive ready -> ok end || _ <- [1, 2]], raddle:crash(?B), [get1(), get1()].
l_crash_two_nodes_hear() -> %% Each node observes it at its own time.
    S = self(), P = on(?B, fun forever/0),
    on(?C, fun() -> M = monitor(process, P), S ! ready, receive {'DOWN', M, _, _, _} -> S ! c end end),
    spawn(fun() -> M = monitor(process, P), S ! ready, receive {'DOWN', M, _, _, _} -> S ! a end end),
    [receive ready -> ok end || _ <- [1, 2]], raddle:crash(?B), [get1(), get1()].
l_crash_nodes() -> net_kernel:monitor_nodes(true), raddle:crash(?B), X = nodes(), receive {nodedown, ?B} -> ok end, {X, nodes()}.
l_crash_send_after() -> raddle:crash(?B), {{x, ?B} ! m, erlang:send({x, ?B}, m)}.
l_crash_call() -> %% A call to a server whose node crashes ends, with or without an answer.
    S = self(), on(?B, fun() -> register(srv, self()), S ! up, receive {'$gen_call', F, q} -> gen:reply(F, a) end, forever() end), receive up -> ok end,
    spawn(fun() -> raddle:crash(?B) end),
    try gen_server:call({srv, ?B}, q) catch exit:{{nodedown, N}, _} -> {nodedown, N}; exit:{R, _} -> R end.
l_crash_own_node() -> {_, M} = spawn_monitor(?B, fun() -> raddle:crash(node()), never_here end), receive {'DOWN', M, _, _, W} -> W end.
l_crash_halt() -> {_, M} = spawn_monitor(?B, fun() -> catch halt(), never_here end), receive {'DOWN', M, _, _, W} -> W end.
l_crash_no_such_node() -> caught(fun() -> raddle:crash('x@raddle') end).
l_crash_test_node() -> caught(fun() -> raddle:crash(node()) end).
l_crash_twice() -> raddle:crash(?B), caught(fun() -> raddle:crash(?B) end).
l_crash_timer() -> S = self(), on(?B, fun() -> erlang:send_after(10, self(), x), S ! up, receive x -> S ! rang end end), receive up -> ok end,
    raddle:crash(?B), receive rang -> rang after 100 -> none end.

%% ---- and restarts

l_restart_new_processes() -> S = self(), on(?B, fun() -> register(n, self()), S ! up, forever() end), receive up -> ok end,
    raddle:crash(?B), raddle:restart(?B, fun() -> S ! {back, whereis(n), ets:whereis(t), nodes()} end), get1().
l_restart_old_pid() -> P = on(?B, fun forever/0), raddle:crash(?B), S = self(), raddle:restart(?B, fun() -> S ! back, forever() end), receive back -> ok end,
    M = monitor(process, P), receive {'DOWN', M, _, _, W} -> W end.
l_restart_messages() -> net_kernel:monitor_nodes(true), raddle:crash(?B), raddle:restart(?B, fun forever/0), X = get1(), {X, net_adm:ping(?B), get1(), nodes()}.
l_restart_up_first() -> %% The node is up before its messages arrive.
    net_kernel:monitor_nodes(true), S = self(), raddle:crash(?B), receive {nodedown, _} -> ok end,
    raddle:restart(?B, fun() -> S ! hello end), [get1(), get1()].
l_restart_timer() -> %% A timer of the old node does not fire on the new one.
    S = self(), on(?B, fun() -> erlang:send_after(10, n, x), S ! up, forever() end), receive up -> ok end, raddle:crash(?B),
    raddle:restart(?B, fun() -> register(n, self()), S ! none() end), get1().
l_restart_up_node() -> caught(fun() -> raddle:restart(?B, fun() -> ok end) end).

%% ---- lines break

l_partition_both_hear() -> S = self(), P = on(?B, fun() -> M = monitor(process, S), S ! up, receive {'DOWN', M, _, _, W} -> forever(), W end end), receive up -> ok end,
    M = monitor(process, P), raddle:partition(node(), ?B), X = receive {'DOWN', M, _, _, W} -> W end, raddle:heal(node(), ?B), {X, net_adm:ping(?B)}.
l_partition_send_lost() -> S = self(), P = on(?B, fun() -> receive X -> S ! {got, X} end end), raddle:partition(node(), ?B), P ! m,
    receive {got, m} -> got after 20 -> lost end.
l_partition_by_third() -> S = self(), P = on(?B, fun() -> receive X -> S ! {got, X} end end), C = on(?C, fun() -> receive X -> P ! X end end),
    raddle:partition(node(), ?B), C ! m, receive {got, m} -> got after 20 -> lost end.
l_partition_ping() -> monitor_node(?B, true), raddle:partition([node()], [?B, ?C]), receive {nodedown, ?B} -> ok end, {net_adm:ping(?B), net_adm:ping(?C)}.
l_partition_monitor() -> P = on(?B, fun forever/0), monitor_node(?B, true), raddle:partition(node(), ?B), receive {nodedown, ?B} -> ok end,
    M = monitor(process, P), receive {'DOWN', M, _, _, W} -> W end.
l_partition_link() -> process_flag(trap_exit, true), P = on(?B, fun forever/0), monitor_node(?B, true), raddle:partition(node(), ?B), receive {nodedown, ?B} -> ok end,
    link(P), receive {'EXIT', P, W} -> W end.
l_partition_spawn() -> monitor_node(?B, true), raddle:partition(node(), ?B), receive {nodedown, ?B} -> ok end,
    {P, M} = spawn_monitor(?B, fun() -> ok end), receive {'DOWN', M, _, P, W} -> {node(P) =:= node(), W} end.
l_heal_in_time() -> %% Before this node has noticed, its messages are lost; afterwards the line is connected again.
    S = self(), P = on(?B, fun() -> receive X -> S ! {got, X} end end), raddle:disconnect(node(), ?B), P ! m, receive {got, m} -> got after 20 -> lost end.
l_disconnect() -> monitor_node(?B, true), {erlang:disconnect_node(?B), receive {nodedown, ?B} -> ok end, erlang:disconnect_node(?B), nodes()}.
l_disconnect_other_hears() -> S = self(), on(?B, fun() -> monitor_node(node(S), true), S ! up, receive {nodedown, _} -> ok end, S ! heard end), receive up -> ok end,
    erlang:disconnect_node(?B), receive heard -> heard end.
l_disconnect_in_flight() -> S = self(), C = on(?C, fun() -> receive sent -> S ! known end end), {_, M} = spawn_monitor(?B, fun() -> S ! m, C ! sent, forever() end),
    receive known -> ok end, erlang:disconnect_node(?B), all_until(M).
l_reconnect_order() -> %% Nothing of the old connection arrives after the new one.
    S = self(), P = on(?B, fun() -> S ! up, receive go -> S ! new end end), net_kernel:monitor_nodes(true), receive up -> ok end,
    raddle:disconnect(node(), ?B), receive {nodedown, ?B} -> ok end, P ! go, [get1(), get1()].
l_reconnect_old() -> %% A node that has not observed the break sends on the old line, though there is a new one.
    S = self(), net_kernel:monitor_nodes(true),
    P = on(?B, fun() -> monitor_node(node(S), true), S ! up, receive go -> ok end, H = receive {nodedown, _} -> heard after 0 -> not_heard end, S ! m, {c, ?C} ! H end),
    C = on(?C, fun() -> register(c, self()), S ! up, receive go -> P ! go end, receive H -> S ! {H, said} end end), [receive up -> ok end || _ <- [1, 2]],
    raddle:disconnect(node(), ?B), receive {nodedown, _} -> ok end, net_adm:ping(?B), C ! go, receive {H, said} -> {H, receive m -> got after 20 -> lost end} end.

%% ---- subscriptions

l_monitor_node_twice() -> monitor_node(?B, true), monitor_node(?B, true), monitor_node(?C, true), monitor_node(?C, false), raddle:crash(?B), raddle:crash(?C),
    [get1(), get1(), none()].
l_monitor_node_down() -> monitor_node(?B, true), raddle:crash(?B), receive {nodedown, ?B} -> ok end, monitor_node(?B, true), get1().
l_monitor_node_unknown() -> monitor_node('x@raddle', true), get1().
l_monitor_nodes_reason() -> net_kernel:monitor_nodes(true, [nodedown_reason]), raddle:crash(?B), X = get1(), raddle:partition(node(), ?C), [X, get1()].
l_monitor_nodes_off() -> net_kernel:monitor_nodes(true), net_kernel:monitor_nodes(false), raddle:crash(?B), none().
l_nodes() -> {nodes(), nodes(this), lists:sort(nodes(known)), nodes(hidden)}.
%% A connection in progress accepts the message.
l_noconnect_connecting() -> monitor_node(?B, true), raddle:disconnect(node(), ?B), receive {nodedown, ?B} -> ok end,
    monitor(process, {x, ?B}), erlang:send({x, ?B}, m, [noconnect]).
l_noconnect() -> monitor_node(?B, true), raddle:disconnect(node(), ?B), receive {nodedown, ?B} -> ok end, erlang:send({x, ?B}, m, [noconnect]).

%% ---- processes on other nodes

l_spawn_request() -> R = spawn_request(?B, fun() -> ok end), receive {spawn_reply, R, ok, P} -> node(P) end.
l_spawn_request_down() -> raddle:crash(?B), R = spawn_request(?B, fun() -> ok end), receive {spawn_reply, R, error, W} -> W end.
l_spawn_request_crash() -> spawn(fun() -> raddle:crash(?B) end), R = spawn_request(?B, fun() -> ok end), receive {spawn_reply, R, ok, _} -> ok; {spawn_reply, R, error, W} -> W end.
l_spawn_request_order() -> S = self(), R = spawn_request(?B, fun() -> S ! m end), [case get1() of {spawn_reply, R, ok, _} -> ok; X -> X end || _ <- [1, 2]].
l_spawn_request_options() -> R = spawn_request(?B, fun() -> exit(e) end, [monitor, {reply, no}]), receive {'DOWN', R, process, _, W} -> W end.
l_spawn_request_abandon() -> R = spawn_request(?B, fun() -> ok end), X = spawn_request_abandon(R), {X, receive {spawn_reply, R, ok, _} -> reply after 20 -> none end}.
l_spawn_link_parent_gone() -> S = self(), {_, M} = spawn_monitor(fun() -> spawn_request(?B, fun() -> process_flag(trap_exit, true), S ! up, receive {'EXIT', _, W} -> S ! W end end, [link]), ok end),
    receive {'DOWN', M, _, _, _} -> ok end, receive up -> none() after 20 -> killed end.
l_spawn_unknown() -> {P, M} = spawn_monitor('x@raddle', fun() -> ok end), receive {'DOWN', M, _, P, W} -> W end.

%% ---- interrupted and concurrent faults

l_crasher_killed() -> %% A node does not stay in between if the process that crashes it is ended meanwhile.
    P = on(?B, fun forever/0), M = monitor(process, P), C = spawn(fun() -> raddle:crash(?B) end), exit(C, kill),
    receive {'DOWN', M, process, P, W} -> {W, caught(fun() -> raddle:crash(?B) end)} after 20 -> {up, raddle:crash(?B)} end.
l_halter_killed() -> {P, M} = spawn_monitor(?B, fun() -> halt() end), exit(P, kill),
    {receive {'DOWN', M, process, P, W} -> W end, timer:sleep(20), caught(fun() -> raddle:crash(?B) end)}.
l_restarter_killed() -> monitor_node(?B, true), raddle:crash(?B), receive {nodedown, _} -> ok end,
    S = self(), C = spawn(fun() -> raddle:restart(?B, fun() -> S ! back, forever() end) end), exit(C, kill),
    receive back -> net_adm:ping(?B) after 20 -> {down, net_adm:ping(?B)} end.
l_restart_by_two() -> raddle:crash(?B), S = self(), F = fun() -> S ! back, forever() end,
    [spawn(fun() -> S ! {said, case caught(fun() -> raddle:restart(?B, F) end) of P when is_pid(P) -> ok; X -> X end} end) || _ <- [1, 2]],
    L = lists:sort([word(said), word(said)]), receive back -> ok end, {L, receive back -> twice after 20 -> once end}.
l_restart_two_nodes() -> net_kernel:monitor_nodes(true), raddle:crash(?B), raddle:crash(?C), [receive {nodedown, _} -> ok end || _ <- [1, 2]], S = self(),
    [spawn(fun() -> raddle:restart(N, fun() -> receive go -> S ! {pinged, net_adm:ping(O)} end end) ! go end) || {N, O} <- [{?B, ?C}, {?C, ?B}]],
    lists:sort([word(pinged), word(pinged)]).
