%% Measures the share of runs in which strategies find the planted bugs, and the cost of a run.
%%
%%   measure:ratios(Runs)      a table: the share of failing runs of each program under each strategy
%%   measure:ratios(Runs, Specs)
%%   measure:speed()           operations and runs per second
%%   measure:growth(Runs)      memory, atoms, processes and tables before and after this many runs
%%   measure:change_points(Runs)   the gain of conflict analysis for PCT of several depths, with change points that do harm and without
%%   measure:replays(Failures, Times)   replays this many failing runs of each program this many times, in VMs with one and with four schedulers
-module(measure).
-export([ratios/1, ratios/2, change_points/1, speed/0, growth/1, replays/2, same/2, ping/0, empty/0, call/0, switch/0]).

programs(Prefix) -> [F || {F, 0} <- lists:sort(planted:module_info(exports)), lists:prefix(Prefix, atom_to_list(F))].

strategies() -> ["random-walk", "pct:depth=3", "basic-pos", "pos", "surw", "oos"].

explore(F, Spec, Runs) ->
    raddle:explore({planted, F}, #{strategy => Spec, runs => Runs, stop => false, file => none, step_limit => 20000,
                                   nodes => ['a@x', 'b@x', 'c@x']}).

ratios(Runs) ->
    ratios(Runs, strategies()),
    Wrong = [{F, Spec} || F <- programs("ok_"), Spec <- ["pos", "pct:depth=3"], not is_clean(explore(F, Spec, Runs))],
    io:format("~nRuns of each program under each strategy: ~w. Failing without a bug: ~p~n", [Runs, Wrong]).

ratios(Runs, Specs) ->
    io:format("| program |~s~n|---|~s~n", [[[" ", Spec, " |"] || Spec <- Specs], ["---|" || _ <- Specs]]),
    [io:format("| ~s |~s~n", [string:slice(atom_to_list(F), 4), [ratio(explore(F, Spec, Runs)) || Spec <- Specs]]) || F <- programs("bug_")].

is_clean(#{failed := 0, error := _}) -> false;
is_clean(#{failed := Failed}) -> Failed =:= 0.

ratio(#{error := Error}) -> io_lib:format(" ~ts |", [Error]);
ratio(#{passed := Passed, failed := Failed}) -> io_lib:format(" ~.4f |", [Failed / (Passed + Failed)]).

change_points(Runs) ->
    Specs = ["pct:depth=1", "pct:depth=2", "pct:depth=3", "pct:depth=5", "basic-pos"],
    io:format("| program | strategy | alone | with conflict analysis |~n|---|---|---|---|~n"),
    [io:format("| ~s | ~s |~s~s~n", [F, Spec, ratio(explore(F, Spec, Runs)), ratio(explore(F, "conflict:" ++ Spec, Runs))])
     || F <- [bug_busy_leader, booted_leader], Spec <- Specs].

%% ---- programs for measuring cost only

empty() -> ok.
call() -> P = planted_server(), [gen_server:call(P, {get, n}) || _ <- lists:seq(1, 10)].
planted_server() -> {ok, P} = gen_server:start_link(planted, #{}, []), P.
%% A process sends itself a thousand messages: operations without a switch.
ping() -> [begin self() ! N, receive N -> ok end end || N <- lists:seq(1, 1000)].
%% A thousand round trips between two processes.
switch() -> S = self(), P = spawn(fun F() -> receive N -> S ! N, F() end end), [begin P ! N, receive N -> ok end end || N <- lists:seq(1, 1000)].

speed() ->
    [begin
         Options = #{strategy => "pos", runs => Runs, file => none},
         raddle:explore({?MODULE, F}, Options#{runs => 2}),
         {Before, _} = erlang:statistics(runtime),
         #{passed := Runs, steps := Steps, microseconds := Time} = raddle:explore({?MODULE, F}, Options),
         {After, _} = erlang:statistics(runtime),
         Used = max(1, After - Before) * 1000,
         io:format("~-8s ~8w runs a second, ~9w operations a second (~w and ~w of processor time), ~.1f operations a run~n",
                   [F, Runs * 1000000 div Time, Steps * 1000000 div Time, Runs * 1000000 div Used, Steps * 1000000 div Used,
                    Steps / Runs])
     end || {F, Runs} <- [{empty, 5000}, {call, 1000}, {ping, 200}, {switch, 200}]],
    ok.

growth(Runs) ->
    Make = fun(N) -> raddle:explore({planted, bug_lost_update}, #{runs => N, stop => false, file => none}) end,
    Make(1000),
    Show = fun() ->
               erlang:garbage_collect(),
               [{processes, length(erlang:processes())}, {tables, length(ets:all())}, {atoms, erlang:system_info(atom_count)},
                {kilobytes, erlang:memory(total) div 1024}, {resident, resident()}]
           end,
    Before = Show(),
    Make(Runs),
    io:format("before ~w~nafter ~w runs ~w~n", [Before, Runs, Show()]).

%% Memory of the whole process, in kilobytes: the engine's memory is not part of the VM's.
resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(binary_to_list(Text), " "),
    list_to_integer(Pages) * 4.

%% ---- replays

replays(Failures, Times) ->
    Folder = string:trim(os:cmd("mktemp -d")),
    Files = lists:append([failing(F, Folder, Failures, 0) || F <- programs("bug_")]),
    [begin
         {ok, Peer, _} = peer:start_link(#{connection => standard_io, args => ["+S", Schedulers, "-kernel", "logger_level", "none", "-pa" | code:get_path()]}),
         Others = peer:call(Peer, ?MODULE, same, [Files, Times], infinity),
         peer:stop(Peer),
         io:format("schedulers ~s: ~w failing runs, each ~w times: ~w of ~w replays differ~n",
                   [Schedulers, length(Files), Times, length(Others), length(Files) * Times]),
         [io:format("  ~ts: ~tp~n", [File, Divergence]) || {File, Divergence} <- Others]
     end || Schedulers <- ["1", "4"]],
    ok = file:del_dir_r(Folder).

%% Writes the first failing runs of a program to files.
failing(_, _, 0, _) -> [];
failing(F, Folder, Left, First) ->
    File = filename:join(Folder, lists:concat([F, "-", Left, ".json"])),
    #{failure := #{run := Run}} =
        raddle:explore({planted, F}, #{strategy => "pos", runs => 10000, first => First, file => File, nodes => ['a@x', 'b@x', 'c@x']}),
    [File | failing(F, Folder, Left - 1, Run + 1)].

%% Returns the replays that differ from their file, or do not fail.
same(Files, Times) ->
    [{File, Other} || File <- Files, _ <- lists:seq(1, Times), Other <- [raddle:replay(File)],
                      case Other of #{divergence := none, verdict := {failed, _, _, _, _}} -> false; _ -> true end].
