%% Tests of concurrent Erlang programs under schedules that Raddle chooses.
%%
%%   raddle:test(fun() -> ... end)             fails with a report and an error if any run fails
%%   raddle:test(fun my_module:my_test/0, #{strategy => "pct:depth=3", runs => 10000})
%%   raddle:explore(Fun, Options)              the same, but returns the results
%%   raddle:replay(File)                       replays a recorded run
%%
%% The first call in a VM instruments modules of OTP, which takes some seconds unless they are in the cache;
%% eunit gives a test five, unless it is {timeout, Seconds, Test}.
%%
%% Options: strategy ("portfolio"), runs (1000), seed (1), first (0: the first run number of each strategy),
%% nodes (['test@raddle']; the test runs on the first), step_limit (100000), virtual_time (infinity, or
%% milliseconds after which a run fails), patience (64), timeouts (when_idle or anytime), wall (a run is
%% abandoned after this many milliseconds without an operation, or at most twice as many), file (the failure
%% file; raddle-failure-*.json by default, none for no file), each (a function that is called with the result
%% of every run), stop (true: at the first failure), minimize (true: the failure that ends the search is
%% minimized and explained), print (a function that gets the report of a failure of raddle:test as a text; by
%% default it is written to the terminal, bypassing captured output), fail_on (a list, empty by default: error
%% for a run in which an error is logged or a process crashes, gave_up for one in which a supervisor gives
%% up), allow (a list, empty by default: native and other functions that run unmodified because they depend
%% only on their arguments, as module, {Module, Function, Arity} or "module:function/1"), faults (none: the
%% maximum number of injected faults of each kind in a run, such as
%% "crash=1,restart=1,partition=2,disconnect=1" or a map; see raddle_faults), trust (false: raddle:replay runs
%% the function that a file names only if Raddle on this machine wrote the file).
%%
%% A test may inject faults itself. Each of these is an operation, so the strategy chooses when:
%%
%%   raddle:crash(Node)                        ends the node; others lose their connections to it
%%   raddle:restart(Node, Fun)                 restarts a crashed node, unconnected, and runs Fun on it
%%   raddle:partition(Nodes, Others)           breaks connections between the two and allows no new ones
%%   raddle:heal(Nodes, Others)                allows connections again
%%   raddle:disconnect(Nodes, Others)          breaks connections; the next signal creates a new one
-module(raddle).
-export([test/1, test/2, explore/2, replay/1, replay/2]).
-export([crash/1, restart/2, partition/2, heal/2, disconnect/2]).
-export([known/1, prepare/1, nodes_of/2, fail_on/1, allow/1, virtual_time/1, faults/1]). % for raddle_main

-type options() :: #{atom() => term()} | [{atom(), term()}].

%% ---- faults; the functions that run under control are in raddle_fault

-spec crash(node()) -> ok.
crash(Node) -> not_under_control(crash, [Node]).

-spec restart(node(), fun(() -> term())) -> pid().
restart(Node, Fun) -> not_under_control(restart, [Node, Fun]).

-spec partition(node() | [node()], node() | [node()]) -> ok.
partition(Nodes, Others) -> not_under_control(partition, [Nodes, Others]).

-spec heal(node() | [node()], node() | [node()]) -> ok.
heal(Nodes, Others) -> not_under_control(heal, [Nodes, Others]).

-spec disconnect(node() | [node()], node() | [node()]) -> ok.
disconnect(Nodes, Others) -> not_under_control(disconnect, [Nodes, Others]).

-spec not_under_control(atom(), [term()]) -> no_return().
not_under_control(Function, Arguments) -> erlang:error({raddle_error, {only_in_a_test, Function, length(Arguments)}}).

%% ---- tests

%% Runs the test, and raises an error with the report if a run fails.
-spec test(fun(() -> term()) | {module(), atom()}) -> ok.
test(Fun) -> test(Fun, #{}).

-spec test(fun(() -> term()) | {module(), atom()}, options()) -> ok.
test(Fun, Options) ->
    case explore(Fun, Options) of
        #{failure := #{report := Report, explanation := Explained} = Failure} ->
            %% Test runners print an error as a term, in which lines are hard to read.
            Print = maps:get(print, options(Options)),
            Print(full_report(Failure, function(Fun))),
            Summary = [Report, [["; ", Explained] || Explained =/= none]],
            erlang:error({raddle_failure, unicode:characters_to_list(Summary), maps:with([file, seed, run, printed], Failure)});
        #{error := Error} -> erlang:error({raddle_error, unicode:characters_to_list(Error)});
        #{failed := 0} -> ok
    end.

%% Executes the runs. Returns the numbers of passed, failed and pruned runs, the steps, the time, and the
%% first failure.
-spec explore(fun(() -> term()) | {module(), atom()}, options()) -> map().
explore(Fun, Given) ->
    Options = options(Given),
    case known(Fun) of
        true -> ok;
        Wrong -> erlang:error({raddle_error, unicode:characters_to_list(Wrong)})
    end,
    in_process(fun() ->
        Spec = unicode:characters_to_binary(maps:get(strategy, Options)),
        case sessions(raddle_nif:lanes(Spec), Options, []) of
            {error, Error} -> none(#{error => Error});
            Sessions ->
                Prepared = (named(Fun, Options))#{test => prepare(Fun), sessions => Sessions, turns => raddle_nif:open_turns(Spec)},
                Start = erlang:monotonic_time(microsecond),
                #{seen := Seen} = Totals = runs(Prepared, maps:get(runs, Options), none(#{})),
                (report(maps:remove(seen, Totals), Prepared))#{partial_orders => maps:size(Seen), microseconds => erlang:monotonic_time(microsecond) - Start}
        end
    end).

%% A tuple with a session for every strategy.
sessions([Spec | Specs], #{step_limit := Limit, patience := Patience, timeouts := Timeouts} = Options, Opened) ->
    case raddle_nif:open(Spec, Limit, Patience, Timeouts =:= anytime) of
        {ok, Session} -> sessions(Specs, Options, [Session | Opened]);
        Error -> Error
    end;
sessions([], _, Opened) -> list_to_tuple(lists:reverse(Opened)).

%% Replays the run of a file. Returns the result of the run, with its steps as text (interleaving) and its
%% output, or a divergence if the program behaves differently.
-spec replay(file:filename()) -> map().
replay(File) -> replay(File, #{}).

replay(File, Given) ->
    {ok, Text} = file:read_file(File),
    in_process(fun() ->
        case raddle_nif:open_replay(Text) of
            {error, Error} -> #{error => Error};
            {ok, Session, {Program, Arguments, Locations, Fingerprint, IsOwn}} ->
                #{trust := Trust} = Options = options(Given),
                may_run(IsOwn orelse Trust, File, Program, Options),
                [code:add_patha(binary_to_list(Path)) || IsOwn orelse Trust, Path <- paths(Arguments)],
                Nodes = nodes_of(Arguments, maps:get(nodes, Options)),
                Test = case maps:find(test, Options) of
                           {ok, Fun} -> prepare(Fun);
                           error -> prepare(program(Program))
                       end,
                FailOn = lists:usort(maps:get(fail_on, Options) ++ fail_on(Arguments)),
                Allow = maps:get(allow, Options) ++ [Allowed || IsOwn orelse Trust, Allowed <- allow(Arguments)],
                Time = min(maps:get(virtual_time, Options), virtual_time(Arguments)), % An atom is greater than any number.
                Result = raddle_run:run(Session, {0, 0}, Options#{test => Test, nodes => Nodes, fail_on => FailOn, allow => Allow,
                                                                  virtual_time => Time, faults => faults(Arguments), callers => true}, fun look_closely/3),
                Moved = moved(Locations, maps:get(locations, Result, [])),
                Same = maps:get(fingerprint, Result, none) =:= Fingerprint,
                Divergence = divergence(raddle_nif:divergence(Session), Moved, Same),
                Steps = [{interleaving, raddle_nif:shown(Text, maps:get(callers, Result, []))} || Divergence =:= none],
                maps:merge((maps:remove(callers, Result))#{divergence => Divergence}, maps:from_list(Steps))
        end
    end).

%% A file of somebody else names a function and where modules are. Neither is used unless the user says so; a test that the user
%% names is the user's own.
may_run(true, _, _, _) -> ok;
may_run(false, _, _, #{test := _}) -> ok;
may_run(false, File, Program, _) ->
    Message = io_lib:format("~ts: raddle on this machine did not write this file, which would run ~tp\n"
                            "help: if you trust it, call raddle:replay(File, #{trust => true})", [File, Program]),
    erlang:error({raddle_error, lists:flatten(Message)}).

paths([<<"--pa">>, Path | Rest]) -> [Path | paths(Rest)];
paths([_ | Rest]) -> paths(Rest);
paths([]) -> [].

nodes_of(Arguments, Default) ->
    case nodes_of(Arguments) of
        [] -> Default;
        Given -> Given
    end.

nodes_of([<<"--node">>, Node | Rest]) -> [binary_to_atom(Node) | nodes_of(Rest)];
nodes_of([_ | Rest]) -> nodes_of(Rest);
nodes_of([]) -> [].

%% Additional failure conditions, as on the command line.
fail_on([<<"--fail-on">>, Sort | Rest]) -> [case Sort of <<"error">> -> error; <<"gave-up">> -> gave_up end | fail_on(Rest)];
fail_on([_ | Rest]) -> fail_on(Rest);
fail_on([]) -> [].

%% The maximum virtual time of a run, in milliseconds.
virtual_time([<<"--virtual-time">>, Milliseconds | _]) -> binary_to_integer(Milliseconds);
virtual_time([_ | Rest]) -> virtual_time(Rest);
virtual_time([]) -> infinity.

%% Functions that run unmodified.
allow(Arguments) -> raddle_allow:read(allowed(Arguments)).

allowed([<<"--allow">>, Name | Rest]) -> [Name | allowed(Rest)];
allowed([_ | Rest]) -> allowed(Rest);
allowed([]) -> [].

%% The injected faults, as on the command line.
faults([<<"--faults">>, Spec | _]) -> raddle_faults:parse(Spec);
faults([_ | Rest]) -> faults(Rest);
faults([]) -> #{}.

program(<<>>) ->
    erlang:error({raddle_error, "the recorded test was a function expression\nhelp: replay it with raddle:replay(File, #{test => Fun})"});
program(Program) ->
    [Module, Function] = binary:split(Program, <<":">>),
    {binary_to_atom(Module), binary_to_atom(Function)}.

%% The step, if the run diverged at one, and the difference. Moved code explains a different text of the
%% outcome.
divergence({Step, What}, _, _) when is_integer(Step) -> {Step, What};
divergence(_, [{Number, Old, New} | _], _) ->
    {none, unicode:characters_to_binary(["location ", integer_to_list(Number), " is ", New, "; in the recorded run it was ", Old])};
divergence({none, What}, [], _) -> {none, What};
divergence(none, [], true) -> none;
divergence(none, [], false) -> {none, <<"the fingerprint differs, though every step was executed">>}.

moved(Old, New) ->
    Pairs = lists:zip(lists:sublist(Old, length(New)), lists:sublist(New, length(Old))),
    [{Number, Was, Is} || {Number, {Was, Is}} <- lists:zip(lists:seq(0, length(Pairs) - 1), Pairs), Was =/= Is].

%% ---- options

options(Given) when is_list(Given) -> options(maps:from_list(Given));
options(Given) ->
    Usual = #{strategy => "portfolio", runs => 1000, seed => 1, first => 0, nodes => ['test@raddle'], step_limit => 100000, virtual_time => infinity,
              patience => 64, timeouts => when_idle, wall => 60000, file => default, stop => true, minimize => true,
              print => fun(Text) -> io:put_chars(user, Text) end,
              each => fun(_) -> ok end, program => "", arguments => [], fail_on => [], allow => [], faults => none, trust => false},
    case maps:keys(Given) -- [test | maps:keys(Usual)] of
        [] ->
            #{allow := Allow, faults := Faults} = All = maps:merge(Usual, Given),
            All#{allow => raddle_allow:read(Allow), faults => raddle_faults:parse(Faults)};
        Unknown -> erlang:error({unknown_options, Unknown})
    end.

%% The options with the data for a replay: the test function, if it has a name, the folder of its module, and
%% the nodes.
named(Fun, #{program := "", arguments := [], nodes := Nodes} = Options) ->
    Known = [["--node", atom_to_list(Node)] || Node <- Nodes],
    case function(Fun) of
        {Module, Function} ->
            Location = case code:which(Module) of
                        File when is_list(File), File =/= "" -> ["--pa", filename:dirname(filename:absname(File))];
                        _ -> []
                    end,
            Options#{program => atom_to_list(Module) ++ ":" ++ atom_to_list(Function), arguments => lists:append([Location | Known])};
        none -> Options#{arguments => lists:append(Known)}
    end;
named(_, Options) -> Options.

function({Module, Function}) -> {Module, Function};
function(Fun) ->
    case maps:from_list(erlang:fun_info(Fun)) of
        #{type := external, module := Module, name := Function} -> {Module, Function};
        #{type := local} -> none
    end.

%% Returns ok if the term can be a test; if not, the reason.
known({Module, Function}) ->
    case code:ensure_loaded(Module) of
        {module, Module} ->
            case erlang:function_exported(Module, Function, 0) of
                true -> has_forms(Module) orelse raddle_report:uncontrolled(Module);
                false -> raddle_report:missing(Module, Function)
            end;
        {error, nofile} -> raddle_report:not_found(Module, Function);
        {error, Why} -> io_lib:format("module ~ts cannot be loaded (~tw)", [raddle_elixir:module(Module), Why])
    end;
known(Fun) when is_function(Fun, 0) ->
    case function(Fun) of
        none -> true;
        Name -> known(Name)
    end;
known(Fun) when is_function(Fun) -> io_lib:format("a test must have no arguments, but ~0tp has", [Fun]);
known(Other) -> io_lib:format("a test must be a function without arguments or {Module, Function}, not ~0tp", [Other]).

%% Returns false if a module was compiled without its forms, so that it has no controlled copy.
has_forms(Module) ->
    case code:get_object_code(Module) of
        {Module, Beam, _} ->
            case beam_lib:chunks(Beam, [abstract_code]) of
                {ok, {_, [{abstract_code, no_abstract_code}]}} -> false;
                _ -> true
            end;
        error -> true
    end.

%% Returns the test as a function under control.
prepare({Module, Function}) -> fun() -> raddle_call:call(Module, Function, [], 4) end;
prepare(Fun) when is_function(Fun, 0) ->
    case function(Fun) of
        none -> raddle_closure:controlled(Fun);
        Known -> prepare(Known)
    end.

%% Runs in a separate process, so that nothing reaches the mailbox of the caller.
in_process(Fun) ->
    ok = raddle_modules:prepare(),
    ok = raddle_modules:renew(),
    Reference = erlang:make_ref(),
    Caller = self(),
    {Pid, Monitor} = erlang:spawn_monitor(fun() -> erlang:monitor(process, Caller), exit({Reference, Fun()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {Reference, Value}} -> Value;
        {'DOWN', Monitor, process, Pid, {{raddle_error, _} = Error, _}} -> erlang:error(Error);
        {'DOWN', Monitor, process, Pid, Reason} -> erlang:error(Reason)
    end.

%% ---- many runs

none(More) ->
    maps:merge(#{passed => 0, failed => 0, cut_off => 0, inconclusive => 0, steps => 0, most_steps => 0, threads => 0, rests => 0,
                 exhausted => false, kinds => #{}, seen => #{}}, More).

runs(_, 0, Totals) -> Totals;
runs(#{seed := Seed, sessions := Sessions, turns := Turns, first := First, each := Each, stop := Stop} = Options, Left, Totals) ->
    case raddle_nif:next_turn(Turns) of
        exhausted -> Totals#{exhausted => true};
        {Lane, Run} ->
            Session = element(Lane + 1, Sessions),
            Number = {Seed, Run + First},
            Look = fun(Handle, Table, Result) ->
                       case Result of
                           #{verdict := {failed, _, _, _, _}} when not is_map_key(failure, Totals) ->
                               failure(Handle, look(Handle, Table, Result), Options, Number);
                           _ -> Result
                       end
                   end,
            case raddle_run:run(Session, Number, Options, Look) of
                exhausted ->
                    raddle_nif:note_turn(Turns, Lane, nil),
                    runs(Options, Left, Totals);
                Result ->
                    Each(Result),
                    raddle_nif:note_turn(Turns, Lane, maps:get(fingerprint, Result, nil)),
                    case count(Result, Totals) of
                        #{error := _} = Done -> Done;
                        #{failure := _} = Done when Stop -> Done;
                        More -> runs(Options, Left - 1, More)
                    end
            end
    end.

count(#{verdict := Verdict} = Result, Totals) ->
    case Verdict of
        passed -> counted(passed, Result, Totals);
        cut_off -> counted(cut_off, Result, Totals);
        inconclusive -> counted(inconclusive, Result, Totals);
        {failed, Kind, _, _, _} ->
            #{kinds := Kinds} = Counted = counted(failed, Result, Totals),
            More = Counted#{kinds => Kinds#{Kind => maps:get(Kind, Kinds, 0) + 1}},
            case Result of
                #{report := _} -> More#{failure => Result};
                _ -> More
            end;
        _ -> Totals#{error => unicode:characters_to_binary(raddle_report:result(Result))}
    end.

counted(Key, #{steps := Steps, rests := Rests, threads := Threads, fingerprint := Print}, Totals) ->
    #{Key := Count, steps := AllSteps, most_steps := Most, threads := MostThreads, rests := AllRests, seen := Seen} = Totals,
    New = if Key =:= cut_off -> Seen; true -> Seen#{Print => []} end,
    Totals#{Key => Count + 1, steps => AllSteps + Steps, most_steps => max(Most, Steps), threads => max(MostThreads, Threads),
            rests => AllRests + Rests, seen => New}.

%% Adds data from the run's table to the result.
look(Session, Table, #{verdict := Verdict, steps := _} = Result) ->
    {Actors, _, Locations} = Names = raddle_run:names(Session, Table),
    Blocked = case Verdict of
                  {failed, _, _, _, List} -> [{lists:nth(Who + 1, Actors), lists:nth(Where + 1, Locations)} || {Who, Where} <- List];
                  _ -> []
              end,
    Result#{names => Names, locations => Locations, blocked => Blocked, printed => raddle_io:printed(Session)};
look(_, _, Result) -> Result.

%% The same with callers.
look_closely(Session, Table, Result) -> (look(Session, Table, Result))#{callers => raddle_nif:callers(Session, raddle_callers:known(Table))}.

failure(Session, #{names := Names} = Result, Options, {Seed, Run} = Number) ->
    #{program := Program, arguments := Words, file := File, fail_on := FailOn, allow := Allow, virtual_time := Time, faults := Faults} = Options,
    Spec = lists:join(",", [io_lib:format("~s=~w", [Sort, Count]) || {Sort, Count} <- lists:sort(maps:to_list(Faults))]),
    Arguments = Words ++ lists:append([["--fail-on", case Sort of error -> "error"; gave_up -> "gave-up" end] || Sort <- FailOn]
                                      ++ [["--allow", raddle_allow:write(Rule)] || Rule <- Allow]
                                      ++ [["--virtual-time", integer_to_list(Time)] || is_integer(Time)]
                                      ++ [["--faults", Spec] || Spec =/= []]),
    Binary = fun unicode:characters_to_binary/1,
    Text = raddle_nif:record(Session, {Binary(Program), [Binary(Argument) || Argument <- Arguments]}, Number, Names),
    Where = case File of
                none -> none;
                default ->
                    Id = binary_to_list(binary:part(binary:encode_hex(erlang:md5(Text)), 0, 8)),
                    "raddle-failure-" ++ string:lowercase(Id) ++ ".json";
                Given -> Given
            end,
    Where =:= none orelse (ok = file:write_file(Where, Text)),
    maps:remove(names, Result#{report => Binary(raddle_report:result(Result)), file => Where, seed => Seed, run => Run, text => Text}).

%% ---- failure reports

%% Reports and records a minimized run, if there are no more runs to execute, with its steps and the order
%% that makes it fail.
report(#{failure := #{text := Text, file := File} = Found} = Totals, #{minimize := true, stop := true} = Options) ->
    Small = case raddle_search:smallest(Text, Options) of
                none -> none;
                {Smallest, Explained} -> repeated(Smallest, Explained, Options)
            end,
    case Small of
        none -> report(Totals, Options#{minimize => false});
        #{text := New} = Result ->
            File =:= none orelse (ok = file:write_file(File, New)),
            Report = unicode:characters_to_binary(raddle_report:result(Result)),
            report(Totals#{failure => maps:merge(maps:with([file, seed, run], Found), Result#{report => Report})}, Options#{minimize => false})
    end;
report(#{failure := #{text := Text} = Failure} = Totals, _) ->
    Steps = raddle_nif:shown(Text, maps:get(callers, Failure, [])),
    Totals#{failure => maps:merge(#{explanation => none}, maps:without([text, names, callers], Failure#{interleaving => Steps}))};
report(Totals, _) -> Totals.

%% Returns a minimized run after repeating it; none if it does not reproduce.
repeated(Text, Explained, Options) ->
    {ok, Session, _} = raddle_nif:open_replay(Text),
    Result = raddle_run:run(Session, {0, 0}, Options#{callers => true}, fun look_closely/3),
    case raddle_nif:divergence(Session) of
        none -> Result#{text => Text, explanation => case Explained of nil -> none; _ -> Explained end};
        _ -> none
    end.

%% Returns the full report of a failure of a test, which may have a name.
-spec full_report(map(), none | {module(), atom()}) -> string().
full_report(#{report := Report, explanation := Explained, interleaving := Steps, printed := Printed, file := File}, Name) ->
    Test = case Name of none -> ", #{test => Fun}"; _ -> "" end,
    unicode:characters_to_list(
      ["\nraddle: ", Report, "\n", [[Explained, ".\n"] || Explained =/= none], "\n", Steps, raddle_io:section(Printed),
       [["\nReplay: raddle:replay(\"", File, "\"", Test, ")\n"] || File =/= none]]).
