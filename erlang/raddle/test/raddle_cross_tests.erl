%% dpor has the outcomes of dfs and random strategies: on programs whose first run has the later one of two
%% orders, on the litmus programs, and on generated ones. RADDLE_CROSS is the number of generated programs of
%% each size; 40 by default.
-module(raddle_cross_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

-define(NODES, ['test@raddle']).

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 3600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

%% ---- the later order comes first

same(Program, Outcomes) ->
    {Exact, true, _} = raddle_cross:outcomes(Program, ?NODES, "dpor", 5000),
    {All, true, _} = raddle_cross:outcomes(Program, ?NODES, "dfs", 50000),
    ?assertEqual(All, Exact),
    ?assertEqual(Outcomes, Exact).

%% Returns the ends of two workers with these actions, and the messages to the main process.
workers(Scripts) ->
    {Exact, true, _} = raddle_cross:outcomes(fun() -> raddle_actors:run(Scripts) end, ?NODES, "dpor", 5000),
    ?assertEqual([], raddle_cross:check(fun() -> raddle_actors:run(Scripts) end, ?NODES, 3000)),
    length(Exact).

a_message_that_is_there_might_have_come_too_late_case() ->
    same(fun() ->
             S = self(),
             A = spawn(fun() -> receive go -> ok end, S ! receive m -> m after 0 -> none end end),
             spawn(fun() -> A ! m end),
             spawn(fun() -> A ! go end),
             receive Seen -> Seen end
         end, [m, none]).

a_link_that_one_end_creates_and_the_other_removes_case() ->
    same(fun() ->
             Main = self(),
             process_flag(trap_exit, true),
             P = spawn(fun() -> link(Main), receive after 5 -> exit(linked) end end),
             unlink(P),
             receive {'EXIT', P, Why} -> Why after 50 -> unlinked end
         end, [linked, unlinked]).

a_named_table_that_another_process_makes_again_case() ->
    same(fun() ->
             S = self(),
             ets:new(t, [named_table, public]),
             spawn(fun() -> ets:delete(t), S ! deleted end),
             spawn(fun() -> S ! {made, try ets:new(t, [named_table, public]) of t -> true catch error:badarg -> false end} end),
             receive deleted -> ok end,
             receive {made, Made} -> Made end
         end, [false, true]).

an_insert_into_a_table_that_is_deleted_and_made_again_case() -> ?assertEqual(2, workers([[new, delete, new], [insert]])).
a_table_whose_owner_ends_case() -> ?assertEqual(3, workers([[new], [new]])).
a_table_that_is_given_away_case() -> workers([[poll, trap, poll], [new, give]]).
a_table_that_is_inherited_case() -> workers([[poll, owner], [new_heir, stop]]).
all_tables_case() -> ?assertEqual(2, workers([[new], [all]])).
a_name_of_a_process_that_is_gone_case() -> ?assert(workers([[whereis], [register_first]]) >= 2).
all_names_case() -> ?assertEqual(2, workers([[register], [registered]])).
all_processes_case() -> ?assert(workers([[], [processes]]) >= 2).
a_process_that_is_gone_case() -> ?assertEqual([2, 2, 2], [workers([[], [Action]]) || Action <- [alive, links, lead]]).
an_exit_signal_to_a_process_that_is_gone_case() -> ?assertEqual(2, workers([[], [kill]])).
a_link_to_a_process_that_is_gone_case() -> ?assert(workers([[stop], [trap, link, poll]]) >= 3).
a_monitor_that_has_fired_case() -> ?assert(workers([[stop], [monitor, demonitor]]) >= 2).
a_monitor_of_a_name_that_comes_late_case() -> ?assertEqual(3, workers([[register], [monitor_name, poll]])).
a_timer_that_has_fired_case() -> ?assert(workers([[timer_now, send_main, cancel, poll]]) >= 2).
an_alias_that_is_given_up_case() -> ?assert(workers([[reply, reply], [alias, unalias, poll]]) >= 2).
a_reply_that_ends_a_monitor_case() -> workers([[stop], [alias_reply, reply, poll, poll]]).
unique_integers_in_order_case() -> ?assertEqual(2, workers([[unique], [unique]])).
the_dictionary_of_another_case() -> ?assert(workers([[put, send_main, put], [dictionary]]) >= 3).
the_mail_of_another_case() -> ?assert(workers([[poll, poll], [send, queue]]) >= 2).
a_group_leader_that_another_sets_case() -> ?assert(workers([[send_main, leader], [lead]]) >= 2).

%% The order in which watchers of the same process are notified is not visible in an operation.
two_that_watch_one_case() ->
    Program = fun() ->
                  S = self(),
                  P = spawn(fun() -> receive stop -> ok end end),
                  A = spawn(fun() -> monitor(process, P), S ! ready, receive {'DOWN', _, _, _, _} -> S ! a end end),
                  spawn(fun() -> link(P), process_flag(trap_exit, true), S ! ready, receive {'EXIT', _, _} -> exit(A, kill), S ! b end end),
                  [receive ready -> ok end || _ <- [1, 2]],
                  P ! stop,
                  receive X -> X end
              end,
    ?assertEqual([], raddle_cross:check(Program, ?NODES, 5000)).

%% A process that is killed was asleep until then, so no partial order comes twice.
once(Scripts) ->
    #{exhausted := true, passed := Passed, partial_orders := Orders} =
        raddle:explore(fun() -> raddle_actors:run(Scripts) end,
                       #{strategy => "dpor", runs => 5000, stop => false, file => none, minimize => false, nodes => ?NODES}),
    ?assertEqual(Orders, Passed).

each_order_once_though_a_process_is_killed_case() -> [once([[Action], [hit]]) || Action <- [alive, monitor, send]].

%% Completed and cut-off runs, and outcomes; see docs/design/erlang.md. A smaller number is welcome if the outcomes are
%% the same.
the_number_of_schedules_case() ->
    Expected = [{64, 0, 1}, {64, 33, 1}, {1, 0, 1}, {1, 0, 1}, {1, 0, 1}, {1, 0, 1}, {4, 0, 1}, {24, 0, 1}, {24, 0, 6},
                {24, 0, 1}, {24, 0, 1}, {11, 0, 2}, {7, 0, 3}, {6, 0, 2}, {6, 0, 3}, {1, 0, 1}],
    Programs = raddle_schedules:programs(),
    ?assertEqual([{Name, Numbers} || {{Name, _}, Numbers} <- lists:zip(Programs, Expected)],
                 [{Name, raddle_schedules:schedules(Program)} || {Name, Program} <- Programs]),
    ?assertEqual([], [{Name, Differs} || {Name, Program} <- Programs, Differs <- raddle_cross:check(Program, ?NODES, 2000)]).

%% ---- many programs

litmus_programs_case() ->
    ?assertEqual([], [{P, Differs} || P <- raddle_litmus:programs(), not lists:member(P, raddle_litmus:long()),
                                      Differs <- [raddle_cross:check(P, raddle_litmus:nodes(P), 300)], Differs =/= []]).

generated_programs_case() ->
    Count = case os:getenv("RADDLE_CROSS") of false -> 40; Given -> list_to_integer(Given) end,
    ?assertEqual([], raddle_cross:generated(1, Count, 2, 3, 600)),
    ?assertEqual([], raddle_cross:generated(1, Count, 3, 2, 600)).

wide_programs_case() ->
    Count = case os:getenv("RADDLE_CROSS") of false -> 40; Given -> list_to_integer(Given) end,
    ?assertEqual([], raddle_cross:wide(1, Count, 2, 2, 600)),
    ?assertEqual([], raddle_cross:wide(1, Count, 3, 1, 600)).
