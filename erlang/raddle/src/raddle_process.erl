%% Processes: how they begin, end, and are ended. The end of a process consists of several operations: it is
%% no longer alive, its tables end, its name and itself end, and then each linked or monitoring process is
%% notified.
-module(raddle_process).
-export([new_main/6, spawn/6, arrived/4, spawned/4, vanish/1, hit/5, die/4, exit/3, hibernate/4, flag/3, alive/2, clean/1]).
-compile({no_auto_import, [spawn/4, exit/2]}).
-include("raddle_run.hrl").

%% ---- the beginning

%% Starts the process that runs the test.
new_main(Session, Table, Node, Fun, Leader, Done) ->
    Real = real(Table, fun() -> born(fun() -> test(Fun, Done) end) end),
    Callers = raddle_table:find(Table, callers, false),
    admit(#me{session = Session, table = Table, searches = raddle_nif:searches(Session), callers = Callers}, Node, Real,
          raddle_nif:add_main(Session, Real), Leader).

%% Spawns a process; Link links it, Watch is none or options of monitor/3.
spawn(Me, Node, Fun, Link, Watch, Location) ->
    #me{table = Table, pid = Pid, searches = Searches} = Me,
    raddle_turn:step(Me, ?SPAWN, Location, case Searches of true -> ?READS(raddle_turn:roll(Me#me{node = Node}, processes)); false -> ?NONE end),
    #process{leader = Leader} = raddle_table:process(Table, Pid),
    Child = spawned(Me, Node, Fun, Leader),
    Link andalso raddle_watch:link_both(Table, Pid, Child),
    case Watch of
        none -> Child;
        _ -> {Child, raddle_watch:monitor_new(Me, Child, Watch)}
    end.

%% Starts the process that the latest operation has created.
spawned(#me{session = Session, table = Table} = Me, Node, Fun, Leader) ->
    Real = real(Table, fun() -> born(fun() -> live(Fun) end) end),
    admit(Me, Node, Real, raddle_nif:add_spawned(Session, Real), Leader).

%% Like spawned/4, if the operation was the arrival of a request for the process.
arrived(#me{session = Session, table = Table, actor = Actor} = Me, Node, Fun, Leader) ->
    Real = real(Table, fun() -> born(fun() -> live(Fun) end) end),
    admit(Me, Node, Real, raddle_nif:add_process_of(Session, Actor, Real), Leader).

admit(#me{session = Session, table = Table, searches = Searches, callers = Callers}, Node, Real, {Actor, Mailbox, Life}, Leader) ->
    Pid = raddle_table:pid(Node, 100 + raddle_table:count(Table, {pids, Node})),
    ets:insert(Table, [#process{pid = Pid, actor = Actor, real = Real, mailbox = Mailbox, life = Life, leader = Leader},
                       {pid_of, {pid_of, Actor}, Pid}]),
    Real ! {'$born', #me{session = Session, table = Table, actor = Actor, pid = Pid, node = Node,
                         mailbox = Mailbox, life = Life, searches = Searches, callers = Callers}},
    Pid.

%% Starts a process of the host. All processes of a run are on one scheduler: only one of them runs at a time,
%% and waking one on another scheduler would only cost time.
real(Table, Body) -> erlang:spawn_opt(Body, [{scheduler, ets:lookup_element(Table, scheduler, 3)}]).

born(Body) ->
    Me = receive {'$born', Given} -> Given end,
    erlang:process_flag(error_handler, raddle_handler),
    erlang:put('$raddle', Me),
    erlang:put('$raddle_mail', []),
    erlang:put('$raddle_calls', 0),
    receive '$go' -> ok end,
    Body().

%% ---- the end of the own process

live(Fun) ->
    Outcome = outcome(Fun),
    ended(raddle_turn:me(), Outcome).

ended(Me, {Reason, Detail}) ->
    Reason =:= normal orelse raddle_log:crashed(Detail), % The detail of a normal end is the returned value.
    terminate(Me, Reason).

test(Fun, Done) ->
    Outcome = outcome(Fun),
    Done(raddle_turn:me(), Outcome).

outcome(Fun) ->
    try Fun() of
        Value -> {normal, Value}
    catch
        exit:Reason:Stack -> {Reason, {exit, Reason, Stack}};
        error:Reason:Stack -> {{Reason, clean(Stack)}, {error, Reason, Stack}};
        throw:Reason:Stack -> {{{nocatch, Reason}, clean(Stack)}, {throw, Reason, Stack}}
    end.

terminate(#me{session = Session, table = Table, actor = Actor, pid = Pid, life = Life} = Me, Reason) ->
    raddle_turn:settle(?AT_DEATH),
    raddle_nif:leave(Session, Actor),
    raddle_signal:begin_death(Table, Actor, Pid, Reason),
    Answer = raddle_nif:act(Session, -1, Actor, ?WRITE, ?AT_DEATH, {?WRITES(Life), ?NONE}),
    raddle_turn:leave(Answer, Me#me{actor = -1}).

%% Ends the running process without notifications.
vanish(#me{session = Session, actor = Actor} = Me) ->
    raddle_turn:end_process(self()),
    raddle_nif:leave(Session, Actor),
    raddle_turn:leave(raddle_nif:finish(Session, -1, Actor), Me#me{actor = -1}).

%% Returns a stack without the names and frames of the instrumentation.
clean(Stack) ->
    [clean_frame(Frame) || Frame <- Stack, not raddle_modules:is_ours(element(1, Frame))].

clean_frame(Frame) -> setelement(1, Frame, raddle_modules:original(element(1, Frame))).

%% ---- the end by others

%% Delivers an exit signal to a process. Ends it unless it traps exits or ignores the signal. The running
%% process is never ended in here: then the result is self, and it must end itself.
hit(#me{table = Table} = Me, From, To, Reason, Sort) ->
    case raddle_table:process(Table, To) of
        #process{state = alive} = Process -> hit_alive(Me, From, Process, Reason, Sort);
        _ -> ok
    end.

hit_alive(Me, From, #process{pid = To, trap = true}, Reason, Sort) when Reason =/= kill; Sort =:= link ->
    raddle_signal:post(Me, To, {'EXIT', From, Reason});
hit_alive(_, From, #process{pid = To}, normal, _) when From =/= To -> ok;
hit_alive(Me, _, #process{pid = To}, Reason, Sort) when To =:= Me#me.pid -> {self, ends(Reason, Sort)};
hit_alive(#me{session = Session, table = Table} = Me, _, Process, Reason, Sort) ->
    #process{pid = Pid, actor = Actor, real = Real, life = Life} = Process,
    raddle_signal:begin_death(Table, Actor, Pid, ends(Reason, Sort)),
    note_exiting(Table, Pid),
    raddle_nif:kill(Session, Actor, ?AT_DEATH, ?WRITES(Life)),
    raddle_turn:end_process(Real),
    raddle_fault:orphaned(Me, Pid),
    ok.

%% Marks the process as not alive, though it still exists; later links to it have no effect.
note_exiting(Table, Pid) ->
    ets:update_element(Table, Pid, {#process.state, exiting}),
    ets:insert_new(Table, {list, {early, Pid}, raddle_table:list(Table, {links, Pid})}).

ends(kill, exit) -> killed;
ends(Reason, _) -> Reason.

exit(To, Reason, Location) when is_pid(To) ->
    #me{table = Table, pid = Pid, node = Node} = Me = raddle_turn:me(),
    case raddle_table:objects(Table, To) of
        {Mailbox, Life} when erlang:node(To) =:= Node ->
            raddle_turn:step(Me, ?WRITE, Location, ?WRITES(Mailbox), ?WRITES(Life));
        _ ->
            {Kind, First, Second} = raddle_signal:address(Me, Node, To),
            raddle_turn:step(Me, Kind, Location, First, Second)
    end,
    case raddle_signal:send(Me, Node, To, {exit, Pid, To, Reason}) of
        {self, Why} -> end_self(Me, Why);
        _ -> true
    end;
exit(_, _, _) -> erlang:error(badarg).

end_self(#me{table = Table, pid = Pid} = Me, Reason) ->
    case raddle_table:find(Table, main, none) of
        Pid -> (raddle_table:find(Table, done, none))(Me, {Reason, {exit, Reason, []}});
        _ -> terminate(Me, Reason)
    end.

%% ---- the stages of a death; each returns the stages that follow it

die(#me{table = Table} = Me, Pid, Reason, exiting) ->
    case raddle_table:find(Table, main, none) of
        Pid ->
            (raddle_table:find(Table, done, none))(Me, {Reason, {exit, Reason, []}}),
            failed;
        _ ->
            note_crash(Me, Pid, Reason),
            note_exiting(Table, Pid),
            raddle_turn:end_process((raddle_table:process(Table, Pid))#process.real),
            looked(Me, lists:append([[{roll, tables}, {table, Tab}] || Tab <- raddle_ets:owned(Me, Pid)]) ++ [{roll, tables}, {roll, processes}, gone])
    end;
die(Me, Pid, _, {Stage, Tab}) when Stage =:= table; Stage =:= drop -> raddle_ets:owner_died(Me, Pid, Tab, Stage);
die(_, _, _, {roll, _}) -> [];
die(#me{table = Table} = Me, Pid, Reason, gone) ->
    #process{mailbox = Mailbox, life = Life} = raddle_table:process(Table, Pid),
    ets:insert(Table, {grave, {grave, Pid}, Mailbox, Life}),
    ets:delete(Table, Pid),
    raddle_name:owner_died(Me, Pid),
    Links = lists:reverse(take(Table, {links, Pid})),
    Early = take(Table, {early, Pid}),
    Watchers = lists:reverse(take(Table, {watchers, Pid})),
    looked(Me, [{roll, processes}])
        ++ [{signal, To, {linked, Pid, To, case lists:member(To, Early) of true -> Reason; false -> noproc end}} || To <- Links]
        ++ [{signal, To, {down, Reference, To, Object, Reason}} || {Reference, To, Object} <- Watchers];
die(Me, Pid, _, {signal, To, Signal}) ->
    raddle_signal:send(Me, erlang:node(Pid), To, Signal),
    [].

%% The stages of a death; those that only read a list are for a search.
looked(#me{searches = true}, Stages) -> Stages;
looked(_, Stages) -> [Stage || Stage <- Stages, element(1, {Stage}) =:= gone orelse element(1, Stage) =/= roll].

take(Table, Key) ->
    List = raddle_table:list(Table, Key),
    ets:delete(Table, Key),
    List.

%% Remembers processes that died of an error, for the report. Like a VM, it prints those that died of an
%% exception.
note_crash(_, _, normal) -> ok;
note_crash(_, _, shutdown) -> ok;
note_crash(_, _, {shutdown, _}) -> ok;
note_crash(#me{session = Session, table = Table}, Pid, Reason) ->
    ets:insert(Table, {crash, {crash, raddle_table:count(Table, crashes)}, Pid, Reason}),
    case raddle_report:crash(Reason) of
        none -> ok;
        Text ->
            Main = raddle_table:find(Table, main, none),
            Who = raddle_report:pid(Pid, Main, erlang:node(Main), raddle_table:find(Table, {called, Pid}, none)),
            raddle_nif:print(Session, unicode:characters_to_binary(["process ", Who, " ", Text, "\n"]))
    end.

%% ---- flags and questions

flag(trap_exit, Value, Location) when is_boolean(Value) ->
    #me{table = Table, pid = Pid, life = Life} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?WRITE, Location, ?WRITES(Life)),
    #process{trap = Old} = raddle_table:process(Table, Pid),
    ets:update_element(Table, Pid, {#process.trap, Value}),
    Old;
flag(trap_exit, _, _) -> erlang:error(badarg);
flag(Flag, Value, Location) ->
    %% These change only speed and memory.
    case lists:member(Flag, [priority, message_queue_data, min_heap_size, min_bin_vheap_size, max_heap_size,
                             fullsweep_after, sensitive, async_dist]) of
        true ->
            %% The host validates the value, but does not keep it: it could end the process, or hide its
            %% messages.
            Usual = erlang:process_flag(Flag, Value),
            _ = erlang:process_flag(Flag, Usual),
            Flags = case erlang:get('$raddle_flags') of undefined -> #{}; Known -> Known end,
            erlang:put('$raddle_flags', Flags#{Flag => Value}),
            maps:get(Flag, Flags, Usual);
        false -> raddle_turn:refuse({erlang, process_flag, 2}, [Flag, Value], Location)
    end.

alive(Pid, Location) when is_pid(Pid) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    erlang:node(Pid) =:= Node orelse erlang:error(badarg),
    case {raddle_table:process(Table, Pid), raddle_table:objects(Table, Pid)} of
        {#process{life = Life}, _} -> raddle_turn:step(Me, ?READ, Location, ?READS(Life));
        {none, {_, Life}} -> raddle_turn:known(Me, Location, ?READS(Life));
        {none, none} -> ok
    end,
    case raddle_table:process(Table, Pid) of
        #process{state = alive} -> true;
        _ -> false
    end;
alive(_, _) -> erlang:error(badarg).

%% Hibernates: the process waits for a message, discards its stack, and continues with a call. Nothing around
%% the call of hibernate is ever returned to.
hibernate(Module, Function, Arguments, Location) ->
    raddle_mailbox:await_any(Location),
    Me = raddle_turn:me(),
    Outcome = outcome(fun() -> raddle_call:call(Module, Function, Arguments, Location) end),
    case raddle_table:find(Me#me.table, main, none) =:= Me#me.pid of
        true -> (raddle_table:find(Me#me.table, done, none))(Me, Outcome);
        false -> ended(Me, Outcome)
    end.
