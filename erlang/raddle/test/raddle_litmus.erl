%% Outcome sets of the litmus programs: under control they are exactly those in litmus.expected, found by
%% exhaustive search where that ends and by random strategies; on the real VM nothing else happens.
%%
%%   raddle_litmus:show(N)           prints the sets: under control, and of N runs on the real VM; show(N,
%%   Programs) for some
%%   raddle_litmus:check(Runs, N)    compares them with the file, and returns the differences
-module(raddle_litmus).
-compile({no_auto_import, [nodes/1]}).
-export([show/1, show/2, check/2, check/4, controlled/2, real/2, programs/0, nodes/1, long/0]).

programs() ->
    [{Module, F} || Module <- [litmus_messages, litmus_exits, litmus_watch, litmus_shared, litmus_otp, litmus_nodes, litmus_files, litmus_otp27],
                    {F, 0} <- lists:sort(Module:module_info(exports)), lists:prefix("l_", atom_to_list(F))].

%% Runs for dpor: it finishes every program within SEARCH, except those in long/0, which get LOOK.
-define(SEARCH, 8000).
-define(LOOK, 600).

%% Returns the outcomes under control, and how they were found.
controlled(Program, Runs) ->
    Random = lists:usort(lists:append([outcomes(Program, Spec, Runs) || Spec <- ["pos", "random-walk", "pct:depth=4,steps=60"]])),
    {Random, outcomes(Program, "dpor", case lists:member(Program, long()) of true -> ?LOOK; false -> ?SEARCH end)}.

outcomes(Program, Spec, Runs) ->
    Owner = self(),
    Tag = make_ref(),
    Each = fun(Result) -> Owner ! {Tag, outcome(Result)} end,
    Totals = raddle:explore(Program, #{strategy => Spec, runs => Runs, stop => false, file => none, each => Each,
                                       step_limit => 5000, nodes => nodes(Program)}),
    Found = lists:usort(drain(Tag)),
    case Totals of
        #{error := Error} -> [{error, Error} | Found];
        #{exhausted := false} when Spec =:= "dpor" -> {unfinished, Found};
        _ -> Found
    end.

nodes({litmus_nodes, _}) -> ['test@raddle', 'b@raddle', 'c@raddle'];
nodes({litmus_files, l_crash_beside_rename}) -> ['test@raddle', 'b@raddle'];
nodes(_) -> ['test@raddle'].

drain(Tag) -> drain(Tag, #{}).
drain(Tag, Seen) ->
    receive {Tag, cut_off} -> drain(Tag, Seen);
            {Tag, Outcome} -> drain(Tag, Seen#{Outcome => true})
    after 0 -> maps:keys(Seen)
    end.

outcome(#{verdict := passed, value := Value}) -> Value;
outcome(#{verdict := cut_off}) -> cut_off;
outcome(#{verdict := {failed, <<"assertion">>, _, Message, _}}) -> {failed, Message};
outcome(#{verdict := {failed, Kind, _, _, _}}) -> {failed, Kind};
outcome(#{verdict := Other}) -> Other.

%% Returns the outcomes of N runs on the real VM.
real({Module, _}, _) when Module =:= litmus_nodes; Module =:= litmus_files -> [];
real({Module, F}, N) -> lists:usort([real_once(Module, F) || _ <- lists:seq(1, N)]).

real_once(Module, F) ->
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> Self ! {self(), Module:F()} end),
    receive
        {Pid, Outcome} -> receive {'DOWN', Monitor, _, _, _} -> Outcome end;
        {'DOWN', Monitor, _, _, Reason} -> {crash, Reason}
    after 60000 -> exit(Pid, kill), stuck
    end.

show(N) -> show(N, programs()).
show(N, Programs) ->
    [begin
         {Random, Exact} = controlled(P, 200),
         Real = real(P, N),
         All = case Exact of {unfinished, Some} -> lists:usort(Random ++ Some); _ -> lists:usort(Random ++ Exact) end,
         Word = if Exact =:= Random -> exact; is_tuple(Exact) -> unfinished; true -> {dpor, Exact} end,
         Same = case Real -- All of [] when Real =:= All -> same; [] -> control_has_more; _ -> 'REAL HAS MORE' end,
         io:format("{~w, ~0tp}. % ~w ~0tp~ts~n",
                   [P, All, Same, Word, if Real =:= All -> ""; true -> io_lib:format(" real ~0tp", [Real]) end])
     end || P <- Programs],
    ok.

%% Returns the differences from the file: under control, and on the real VM.
check(Runs, N) ->
    Expected = expected(),
    Wrong = lists:append([check(P, lists:keyfind(P, 1, Expected), Runs, N) || P <- programs()]),
    Unknown = [{gone, P} || {P, _} <- Expected, not lists:member(P, programs())],
    Wrong ++ Unknown.

%% A line that begins with since is for a release and later ones, and replaces another one.
expected() ->
    {ok, Lines} = file:consult(filename:join(filename:dirname(filename:dirname(code:which(?MODULE))), "litmus.expected")),
    Later = [{P, Outcomes} || {since, Since, P, Outcomes} <- Lines, Since =< release()],
    Later ++ [Line || {P, _} = Line <- Lines, not lists:keymember(P, 1, Later)].

release() -> list_to_integer(erlang:system_info(otp_release)).

check(P, false, _, _) -> [{not_expected, P}];
check(P, {P, Outcomes}, Runs, N) ->
    {Random, Exact} = controlled(P, Runs),
    Found = case Exact of {unfinished, Some} -> Some; _ -> Exact end,
    [{under_control, P, lists:usort(Random ++ Found)} || lists:usort(Random ++ Found) =/= Outcomes]
        ++ [{search, P, Exact} || is_list(Exact), Exact =/= Outcomes]
        ++ [{unfinished, P} || is_tuple(Exact), not lists:member(P, long())]
        ++ [{real, P, Real -- Outcomes} || not lists:member(P, timed()), Real <- [real(P, N)], Real -- Outcomes =/= []].

%% These have more orders than dpor explores here; it must find nothing else.
long() ->
    [{litmus_nodes, F} || F <- [l_partition_both_hear, l_reconnect_old, l_restart_by_two, l_restart_two_nodes]]
        %% Since OTP 26 a process also monitors the processes it starts, and each restart multiplies the
        %% orders.
        ++ [{litmus_otp, l_sup_too_often} || release() >= 26].

%% Their outcomes on a real VM depend on its speed, so nothing is required of it.
timed() ->
    [{litmus_shared, l_sleep_order}, {litmus_shared, l_timer_order}, {litmus_otp, l_server_timeout}, {litmus_otp, l_start_link_stops},
     {litmus_otp, l_proc_lib_fails}, {litmus_watch, l_send_name_race}, {litmus_otp27, l_apply_after_cancel}].
