%% One run: begins it, waits for its end, and cleans up.
-module(raddle_run).
-export([run/4, names/2]).
-include("raddle_run.hrl").

%% Runs Fun as run number Number of Seed. Returns exhausted, or a map with the verdict and the counts. Look is
%% called with the table of the run before it is deleted. The end of a process that the caller monitors ends
%% the run; the caller's other messages are left in the mailbox.
run(Session, {Seed, Number}, #{test := Fun, nodes := [Node | _] = Nodes, wall := Wall} = Options, Look) ->
    #{fail_on := FailOn, allow := Allow, virtual_time := Time, faults := Faults} = Options,
    case raddle_nif:'begin'(Session, Seed, Number) of
        exhausted -> exhausted;
        ok ->
            Time =:= infinity orelse raddle_nif:limit_time(Session, Time * 1000000),
            Table = raddle_table:new(self()),
            ets:insert(Table, [{scheduler, scheduler, erlang:system_info(scheduler_id)}, {nodes, nodes, Nodes}, {done, done, fun done/2},
                               {fail_on, fail_on, FailOn}, {allow, allow, Allow}]),
            Callers = maps:get(callers, Options, false),
            Callers andalso ets:insert(Table, {callers, callers, true}),
            Leader = raddle_table:pid(Node, 1),
            Main = raddle_process:new_main(Session, Table, Node, Fun, Leader, fun done/2),
            ets:insert(Table, {main, main, Main}),
            raddle_faults:start(Session, Table, Faults),
            raddle_nif:start(Session) ! '$go',
            End = raddle_callers:seen(Callers, fun() -> await(Session, Table, Wall, 0) end),
            Result = result(Session, Table, End),
            Seen = Look(Session, Table, Result),
            %% Processes that have returned are not actors, but may still exist.
            [erlang:exit(Real, kill) || [Real] <- ets:match(Table, #process{real = '$1', _ = '_'})],
            raddle_ets:clear(Table),
            ets:delete(Table),
            flush(),
            Seen
    end.

%% Handles the end of the test function, in any way.
done(#me{session = Session, table = Table, actor = Actor} = Me, {Reason, Detail}) ->
    Answer = case Reason of
                 normal ->
                     ets:insert(Table, {value, value, Detail}),
                     raddle_nif:conclude(Session, Actor, ?AT_START);
                 _ ->
                     ets:insert(Table, {failure, failure, Reason}),
                     Text = unicode:characters_to_binary([raddle_report:reason(Detail), raddle_log:gave_up(Table)]),
                     raddle_nif:fail(Session, Actor, ?AT_START, Text)
             end,
    raddle_turn:take(Answer, Me).

result(Session, Table, stop) ->
    case raddle_nif:end_run(Session) of
        {broken, What} -> #{verdict => {broken, What}};
        {Verdict, {Steps, Fingerprint, Rests, Time}} ->
            {Threads, _} = raddle_nif:counts(Session),
            #{verdict => Verdict, steps => Steps, threads => Threads, fingerprint => Fingerprint, rests => Rests, time => Time,
              value => raddle_table:find(Table, value, none),
              reason => raddle_table:find(Table, failure, none),
              crashes => [{Pid, Reason} || [Pid, Reason] <- ets:match(Table, {crash, '_', '$1', '$2'})]}
    end;
result(_, _, {refused, What, Arguments, Location}) -> #{verdict => {refused, What, Arguments, raddle_modules:location(Location)}};
result(_, _, {broken, What}) -> #{verdict => {broken, What}};
result(_, _, {stuck, Where}) -> #{verdict => {stuck, Where}}.

%% The maximum time-out of the VM, seven weeks.
-define(LONGEST, 16#ffffffff).

%% Returns the reason for the end of the run. It is abandoned after a full period of the host's clock without
%% a step.
await(Session, Table, Wall, Before) ->
    receive
        {'$over', Table, Why} -> Why;
        {'DOWN', _, process, _, _} -> {broken, <<"the calling process has ended">>}
    after min(Wall, ?LONGEST) ->
        {stuck, Stacks} = Stuck = stuck(Session),
        %% Instrumenting a module may take any time.
        Loads = [loads || [{raddle_modules, load, _, _} | _] <- Stacks],
        case raddle_nif:steps(Session) of
            Before when Loads =:= [] -> Stuck;
            Steps -> await(Session, Table, Wall, Steps)
        end
    end.

%% No process has asked for the next actor for too long: most likely a loop without an operation.
stuck(Session) ->
    {stuck, [Stack || Pid <- raddle_nif:pids(Session),
                      {current_stacktrace, [{Module, _, _, _} | _] = Stack} <- [process_info(Pid, current_stacktrace)],
                      Module =/= raddle_turn, Module =/= raddle_process]}.

flush() ->
    receive
        {'$over', _, _} -> flush();
        {'ETS-TRANSFER', _, _, _} -> flush()
    after 0 -> ok
    end.

%% Returns names for the actors, objects and locations of the run, as texts in the order of their numbers.
names(Session, Table) ->
    Main = raddle_table:find(Table, main, none),
    Pids = maps:from_list([{Actor, Pid} || [Actor, Pid] <- ets:match(Table, {pid_of, {pid_of, '$1'}, '$2'})]),
    Carriers = maps:from_list([{Actor, {From, To}} || [From, To, {Actor, _}] <- ets:match(Table, {carrier, {carrier, '$1', '$2'}, '$3'})]),
    Errands = maps:from_list([{Actor, {errand, Name}} || [Actor, Name] <- ets:match(Table, {actor_name, {actor_name, '$1'}, '$2'})]),
    {Actors, Objects} = raddle_nif:counts(Session),
    Actor = fun(Number) ->
                case {maps:find(Number, Pids), maps:find(Number, maps:merge(Carriers, Errands))} of
                    {{ok, Pid}, _} -> raddle_report:pid(Pid, Main, erlang:node(Main), raddle_table:find(Table, {called, Pid}, none));
                    {_, {ok, {errand, Name}}} -> Name;
                    {_, {ok, {From, To}}} -> io_lib:format("delivery from ~ts to ~ts", [From, To]);
                    _ -> io_lib:format("timer ~w", [Number])
                end
            end,
    Named = maps:from_list([{Object, raddle_report:object(Term)} || [Term, Object] <- ets:match(Table, {object, {object, '$1'}, '$2'})]),
    Owned = maps:from_list(lists:append(
              [[{Life, ["life of ", Actor(Number)]}, {Mailbox, ["mailbox of ", Actor(Number)]}] % Deliveries have one for both.
               || {Number, Mailbox, Life} <- raddle_nif:owned(Session)])),
    All = maps:merge(Owned, Named),
    Text = fun unicode:characters_to_binary/1,
    {[Text(Actor(Number)) || Number <- lists:seq(0, Actors - 1)],
     [Text(maps:get(Number, All, "?")) || Number <- lists:seq(0, Objects - 1)],
     [Text(raddle_modules:location(Location)) || Location <- raddle_nif:locations(Session)]}.
