%% What `raddle beam run` and `raddle replay` start. Arguments come after -extra; the answer is a JSON object in the file that the first
%% of them names, made for the command line and not for people.
%%
%%   RESULT run MODULE:FUNCTION SPEC RUNS SEED STEP_LIMIT PATIENCE TIMEOUTS KEEP_GOING FAILURE_FILE [--pa DIR | --node NAME]..
%%   RESULT replay FILE
-module(raddle_main).
-export([main/0]).

main() ->
    [Result | Words] = init:get_plain_arguments(),
    Answer = try command(Words) catch _:{raddle_error, Why}:_ -> #{error => text(Why)}; _:Why:Stack -> #{error => text({Why, Stack})} end,
    ok = file:write_file(Result, [json(Answer), "\n"]),
    erlang:halt(0).

command(["run", Test, Spec, Runs, Seed, Limit, Patience, Timeouts, Going, File | Places]) ->
    add_paths(Places),
    [Module, Function] = string:split(Test, ":"),
    Program = {list_to_atom(Module), list_to_atom(Function)},
    known(Program),
    Nodes = case [list_to_atom(Node) || {"--node", Node} <- pairs(Places)] of [] -> ['test@raddle']; Given -> Given end,
    Totals = raddle:explore(Program, #{strategy => Spec, runs => list_to_integer(Runs), seed => list_to_integer(Seed),
                                       step_limit => list_to_integer(Limit), patience => list_to_integer(Patience),
                                       timeouts => list_to_atom(Timeouts), stop => Going =/= "true", file => File,
                                       program => Test, arguments => Places, nodes => Nodes}),
    totals(Totals);
command(["replay", File]) ->
    case raddle:replay(File) of
        #{error := Error} -> #{error => Error};
        #{divergence := none, fingerprint := Print} -> #{fingerprint => Print};
        #{divergence := {Step, What}, steps := _} -> #{left_at => Step, what => What};
        #{verdict := _} = Result -> #{error => text(raddle_report:result(Result))}
    end.

totals(#{error := Error}) -> #{error => Error};
totals(#{passed := Passed, failed := Failed, cut_off := CutOff, exhausted := Exhausted, rests := Rests} = Totals) ->
    First = case Totals of #{failure := #{run := Run}} -> Run; _ -> null end,
    #{runs => Passed + Failed, failures => Failed, cut_off => CutOff, exhausted => Exhausted, rests => Rests,
      first_failure => First, partial_orders => maps:get(partial_orders, Totals), threads => maps:get(threads, Totals),
      steps => maps:get(most_steps, Totals), kinds => maps:get(kinds, Totals)}.

known({Module, Function}) ->
    case code:ensure_loaded(Module) of
        {module, Module} ->
            erlang:function_exported(Module, Function, 0)
                orelse erlang:error({raddle_error, io_lib:format("module ~ts exports no function ~ts/0", [Module, Function])});
        {error, Why} ->
            erlang:error({raddle_error, io_lib:format("there is no module ~ts (~tw); --pa names a directory with beams", [Module, Why])})
    end.

add_paths(Places) -> [code:add_patha(Path) || {"--pa", Path} <- pairs(Places)].

pairs([Option, Value | Rest]) -> [{Option, Value} | pairs(Rest)];
pairs([]) -> [].

%% ---- JSON

text(Text) ->
    try unicode:characters_to_binary(Text) of
        Binary when is_binary(Binary) -> Binary;
        _ -> unicode:characters_to_binary(io_lib:format("~0tp", [Text]))
    catch
        _:_ -> unicode:characters_to_binary(io_lib:format("~0tp", [Text]))
    end.

json(Map) when is_map(Map) ->
    [${, lists:join($,, [[json(atom(Key)), $:, json(Value)] || {Key, Value} <- maps:to_list(Map)]), $}];
json(Number) when is_integer(Number) -> integer_to_list(Number);
json(Word) when Word =:= true; Word =:= false; Word =:= null -> atom_to_list(Word);
json(Text) when is_binary(Text) -> [$", [escaped(Char) || Char <- unicode:characters_to_list(Text)], $"].

atom(Key) when is_atom(Key) -> atom_to_binary(Key);
atom(Key) -> Key.

escaped($") -> "\\\"";
escaped($\\) -> "\\\\";
escaped(Char) when Char < 32 -> io_lib:format("\\u~4.16.0b", [Char]);
escaped(Char) -> unicode:characters_to_binary([Char]).
