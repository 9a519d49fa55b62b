%% Tests of Elixir programs: every function whose name ends in _case. Without Elixir they print a message and
%% pass, unless RADDLE_ELIXIR is set.
-module(raddle_elixir_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {setup, fun compiled/0, fun(_) -> removed() end,
     fun(IsThere) -> {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || IsThere, F <- Cases]} end}.

directory() -> filename:join(filename:dirname(code:which(?MODULE)), "elixir-" ++ os:getpid()).

%% Returns true if there is an Elixir that has compiled the program.
compiled() ->
    case {os:find_executable("elixirc"), os:getenv("RADDLE_ELIXIR")} of
        {false, false} ->
            io:format(user, "NOT TESTED: Elixir programs; on Debian the package elixir has what is needed~n", []),
            false;
        {Compiler, _} when is_list(Compiler) ->
            ok = filelib:ensure_path(directory()),
            File = filename:join(directory(), "scratch.ex"),
            ok = file:write_file(File, unicode:characters_to_binary(program())),
            "" = os:cmd("elixirc -o " ++ directory() ++ " " ++ File),
            code:add_patha(directory()),
            true
    end.

removed() ->
    code:del_path(directory()),
    file:del_dir_r(directory()).

program() ->
    "defmodule Scratch do\n"
    "  require Logger\n"
    "  def two(x), do: {fn -> {:first, x} end, fn -> {:second, x} end}\n"
    "  def takes(x), do: {fn -> {:first, x} end, fn -> receive do 1 -> 1 after 0 -> {:late, x} end end}\n"
    "  def logs, do: Logger.error(\"bad\")\n"
    "  def applications, do: {Application.ensure_all_started(:logger), Application.get_env(:logger, :none, 7)}\n"
    "  def native, do: {Scratch.Native.sum(1, 2)}\n"
    "  def prints do\n    {:ok, device} = StringIO.open(\"\")\n    IO.puts(device, \"taken\")\n    {\"\", taken} = StringIO.contents(device)\n"
    "    IO.puts([\"ä \", taken])\n    IO.inspect({:b, 1})\n    IO.write(:stderr, \"c\\n\")\n    Logger.warning(\"late\")\n    raise \"now\"\n  end\n"
    "end\n"
    "defmodule Scratch.Native do\n"
    "  @on_load :start\n"
    "  def start, do: :ok\n"
    "  def sum(a, b), do: a + b\n"
    "end\n".

values(Fun, Options) -> element(1, raddle_use_tests:values(Fun, Options)).

%% Elixir has no columns.
functions_of_one_line_are_distinguished_case() ->
    {First, Second} = 'Elixir.Scratch':two(1),
    ?assertEqual([[{first, 1}], [{second, 1}]], [values(Fun, #{runs => 1}) || Fun <- [First, Second]]),
    %% A receive has a separate function in the copy.
    {Early, Late} = 'Elixir.Scratch':takes(2),
    ?assertEqual([[{first, 2}], [{late, 2}]], [values(Fun, #{runs => 1}) || Fun <- [Early, Late]]).

an_error_of_its_logger_is_one_case() ->
    Test = {'Elixir.Scratch', logs},
    ?assertMatch(#{passed := 3}, raddle:explore(Test, #{file => none, runs => 3})),
    ?assertMatch(#{failure := #{report := <<"the test failed: an error was reported: bad">>}},
                 raddle:explore(Test, #{file => none, runs => 3, fail_on => [error]})).

output_is_reported_case() ->
    #{failure := #{printed := Printed}} = raddle:explore({'Elixir.Scratch', prints}, #{file => none, runs => 1}),
    ?assertEqual(<<"ä taken\n\n{:b, 1}\nc\nwarning: late\n"/utf8>>, Printed).

its_applications_are_started_case() ->
    ?assertEqual([{{ok, []}, 7}], values({'Elixir.Scratch', applications}, #{runs => 1})).

native_functions_have_their_own_names_case() ->
    Test = {'Elixir.Scratch', native},
    #{error := Error} = raddle:explore(Test, #{file => none, runs => 1}),
    ?assertMatch({match, _}, re:run(Error, "^Scratch.Native.sum/2, reached from scratch.ex:7, cannot be controlled, .*\n.*"
                                           " with --allow Scratch.Native.sum/2 or ")),
    [?assertEqual([{3}], values(Test, #{runs => 1, allow => [Name]})) || Name <- ["Scratch.Native.sum/2", "Scratch.Native", 'Elixir.Scratch.Native']].
