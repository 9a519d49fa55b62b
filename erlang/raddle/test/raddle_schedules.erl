%% The number of schedules that dpor needs for small programs, one for each kind of dependence. Several are
%% published with numbers of other tools: readers and last zero in Abdulla et al., POPL 2014; the others
%% resemble tests of Concuerror.
%%
%%   raddle_schedules:table()   prints for each program the completed and the cut-off runs of dpor, the number
%%   of partial orders that dfs finds if it ends, and the number of outcomes
-module(raddle_schedules).
-export([table/0, programs/0, schedules/1]).

table() ->
    [begin
         {Done, CutOff, Outcomes} = schedules(Program),
         io:format("| ~ts | ~w + ~w | ~w | ~w |~n", [Name, Done, CutOff, orders(Program), Outcomes])
     end || {Name, Program} <- programs()],
    ok.

%% Returns the numbers of completed and cut-off runs of dpor, and of outcomes.
schedules(Program) ->
    {Outcomes, true, {Done, CutOff}} = raddle_cross:outcomes(Program, ['test@raddle'], "dpor", 20000),
    {Done, CutOff, length(Outcomes)}.

orders(Program) ->
    Options = #{strategy => "dfs", runs => 100000, stop => false, file => none, minimize => false},
    case raddle:explore(Program, Options) of
        #{exhausted := true, partial_orders := Orders} -> Orders;
        #{} -> too_many_schedules
    end.

programs() ->
    [{"six readers of a key, one writer", fun() -> readers(6) end},
     {"last zero of five", fun() -> last_zero(5) end},
     {"writers of different keys", fun() -> keys(4) end},
     {"counters of an array", fun() -> counters(4) end},
     {"names of different processes", fun() -> names(3) end},
     {"messages to different processes", fun() -> mailboxes(4) end},
     {"two messages, received by pattern", fun() -> patterns(2) end},
     {"three messages, received by pattern", fun() -> patterns(3) end},
     {"three messages, received in order", fun() -> any(3) end},
     {"three monitors", fun() -> monitors(3) end},
     {"three calls of different servers", fun() -> calls(3) end},
     {"a name that changes its owner", fun() -> bank() end},
     {"two exit signals to one process", fun() -> killers() end},
     {"a monitor that is removed and flushed", fun() -> demonitored([flush]) end},
     {"a monitor that is removed", fun() -> demonitored([]) end},
     {"two time-outs", fun() -> timeouts() end}].

join(N) -> [receive done -> ok end || _ <- lists:seq(1, N)].

readers(N) ->
    Table = ets:new(table, [public]),
    spawn(fun() -> ets:insert(Table, {x, 1}) end),
    [spawn(fun() -> ets:lookup(Table, I), ets:lookup(Table, x) end) || I <- lists:seq(1, N)],
    ok.

last_zero(N) ->
    Table = ets:new(table, [public]),
    [ets:insert(Table, {I, 0}) || I <- lists:seq(0, N)],
    spawn(fun() -> first_zero(Table, N) end),
    [spawn(fun() -> ets:insert(Table, {I, 1 + ets:lookup_element(Table, I - 1, 2)}) end) || I <- lists:seq(1, N)],
    ok.

first_zero(_, 0) -> 0;
first_zero(Table, N) ->
    case ets:lookup_element(Table, N, 2) of
        0 -> N;
        _ -> first_zero(Table, N - 1)
    end.

keys(N) ->
    Table = ets:new(table, [public]),
    [spawn(fun() -> ets:insert(Table, {I, 1}) end) || I <- lists:seq(1, N)],
    ok.

counters(N) ->
    Array = counters:new(N, []),
    [spawn(fun() -> counters:add(Array, I, 1) end) || I <- lists:seq(1, N)],
    ok.

names(N) ->
    [spawn(fun() -> register(Name, self()) end) || Name <- lists:sublist([a, b, c], N)],
    ok.

mailboxes(N) ->
    [begin
         Pid = spawn(fun() -> receive M -> M end end),
         spawn(fun() -> Pid ! I end)
     end || I <- lists:seq(1, N)],
    ok.

patterns(N) ->
    Self = self(),
    [spawn(fun() -> Self ! I end) || I <- lists:seq(1, N)],
    [receive I -> ok end || I <- lists:seq(1, N)].

any(N) ->
    Self = self(),
    [spawn(fun() -> Self ! I end) || I <- lists:seq(1, N)],
    [receive I -> I end || _ <- lists:seq(1, N)].

monitors(N) ->
    Children = [spawn_monitor(fun() -> ok end) || _ <- lists:seq(1, N)],
    [receive {'DOWN', Monitor, process, _, _} -> ok end || {_, Monitor} <- Children].

calls(N) ->
    Self = self(),
    [begin
         Server = spawn(fun() -> receive {From, Reference, X} -> From ! {Reference, X} end end),
         spawn(fun() ->
                   Reference = make_ref(),
                   Server ! {self(), Reference, I},
                   receive {Reference, _} -> Self ! done end
               end)
     end || I <- lists:seq(1, N)],
    join(N).

%% Which of two processes has the name decides who gets the message.
bank() ->
    register(bank, self()),
    God = spawn(fun() -> receive _ -> ok end end),
    spawn(fun() -> catch bank ! money end),
    spawn(fun() ->
              unregister(bank),
              register(bank, self()),
              receive money -> God ! robber after 0 -> failed end
          end),
    receive money -> God ! bank after 50 -> nothing end.

killers() ->
    Table = ets:new(table, [public]),
    {Victim, Monitor} = spawn_monitor(fun() -> receive never -> ok end end),
    spawn(fun() -> ets:insert(Table, {foo}), exit(Victim, first) end),
    spawn(fun() -> exit(Victim, second) end),
    receive {'DOWN', Monitor, process, Victim, Why} -> {Why, ets:lookup(Table, foo)} end.

demonitored(Options) ->
    {Pid, Monitor} = spawn_monitor(fun() -> ok end),
    Down = fun() -> receive {'DOWN', Monitor, process, Pid, normal} -> down after 0 -> none end end,
    case Down() of
        down -> early;
        none -> true = demonitor(Monitor, Options), Down()
    end.

timeouts() ->
    Self = self(),
    [spawn(fun() -> receive never -> ok after Time -> Self ! Time end end) || Time <- [5, 10]],
    [receive Time -> Time end || _ <- [1, 2]].
