%% Texts for people.
-module(raddle_report).
-export([reason/1, missing/2, pid/4, object/1, result/1, refusal/1, plain/1, caller/0]).
-include("raddle_run.hrl").

%% How many functions are told that a module exports.
-define(MOST_EXPORTS, 8).

%% Why a process ended, in one line, and where if that is known.
reason({normal, _}) -> "normal";
reason({exit, Reason, _}) -> line("exit: ", Reason);
reason({error, undef, [{Module, Function, Arguments, _} | _] = Stack}) when is_list(Arguments) ->
    io_lib:format("error: undef, as there is no ~ts~ts", [raddle_elixir:function(raddle_modules:original(Module), Function, length(Arguments)), where(raddle_process:clean(tl(Stack)))]);
reason({Class, Reason, Stack}) ->
    [line(atom_to_list(Class) ++ ": ", Reason), where(raddle_process:clean(Stack))].

%% That a module does not export the function that is to be the test, and what it exports instead.
missing(Module, Function) ->
    Exports = lists:sort(Module:module_info(exports)) -- [{module_info, 0}, {module_info, 1}],
    Shown = fun(Functions) -> lists:join(", ", [io_lib:format("~ts/~w", [Name, Arity]) || {Name, Arity} <- lists:sublist(Functions, ?MOST_EXPORTS)]) end,
    Hint = case {[Export || {Name, _} = Export <- Exports, Name =:= Function], [Export || {_, 0} = Export <- Exports]} of
               {[_ | _] = Same, _} -> ["; it exports ", Shown(Same), ", but a test takes no arguments"];
               {[], [_ | _] = Tests} -> ["; without arguments it exports ", Shown(Tests), [", .." || length(Tests) > ?MOST_EXPORTS]];
               {[], []} -> ""
           end,
    [io_lib:format("module ~ts exports no function ~ts/0", [raddle_elixir:module(Module), Function]), Hint].

line(Prefix, Term) -> [Prefix, plain(term(Term))].

%% A term in one line, with maps in the order of their keys (see raddle_map).
-if(?OTP_RELEASE >= 26).
term(Term) -> io_lib:format("~0tkp", [Term]).
-else.
term(Term) -> io_lib:format("~0tp", [Term]).
-endif.

%% A text as it is in every VM: the first number of a pid or reference stands for its node, and depends on what else was loaded.
plain(Text) ->
    re:replace(unicode:characters_to_binary(Text), "(<|#Ref<)[0-9]+(\\.[0-9]+)", "\\g{1}0\\g{2}", [global, unicode, {return, binary}]).

where([{Module, Function, Arity, Info} | Stack]) ->
    Count = if is_list(Arity) -> length(Arity); true -> Arity end,
    case proplists:get_value(line, Info) of
        undefined -> where(Stack);
        Line ->
            File = filename:basename(proplists:get_value(file, Info, "?")),
            io_lib:format(" in ~ts (~ts:~w)", [raddle_elixir:function(Module, Function, Count), File, Line])
    end;
where([]) -> "".

%% A process, of a run whose test is Main, with the name that it had last if it was registered. The node is told where it is not that of the test.
pid(Main, Main, _, _) -> "test";
pid(Pid, Main, First, Name) when Name =/= none -> [io_lib:format("~tw ", [Name]), pid(Pid, Main, First, none)];
pid(Pid, _, First, none) ->
    Where = case erlang:node(Pid) of
                First -> "";
                Node -> io_lib:format(" on ~ts", [Node])
            end,
    io_lib:format("<0.~w.0>~ts", [raddle_info:number(Pid), Where]).

object({name, _, Name}) -> io_lib:format("name ~tw", [Name]);
object({ets_name, _, Name}) -> io_lib:format("table name ~tw", [Name]);
object({timer, Reference}) -> io_lib:format("timer ~w", [erlang:phash2(Reference, 1000)]);
object({content, {table, Id}}) -> io_lib:format("content of table ~ts", [table(Id)]);
object({structure, {table, Id}}) -> io_lib:format("table ~ts", [table(Id)]);
object({entry, {table, Id}, Key}) -> [term(Key), " in table ", table(Id)];
object({{persistent, Key}, _}) -> ["persistent term ", term(Key)];
object({{environment, App, Key}, _}) -> io_lib:format("environment ~tw of ~tw", [Key, App]);
object({roll, Node, What}) -> io_lib:format("~tw of ~ts", [What, Node]);
object({watchers, Pid}) -> io_lib:format("watchers of ~w", [raddle_info:number(Pid)]);
object({unique, monotonic}) -> "unique integers";
object({Module, Reference, Index}) when is_reference(Reference) -> io_lib:format("~tw ~w at ~w", [Module, erlang:phash2(Reference, 1000), Index]);
object({service, Node, Service}) -> io_lib:format("~tw of ~ts", [Service, Node]);
object({node, Node}) -> io_lib:format("node ~ts", [Node]);
object({disk, Node, {_, {Path, _}}}) -> io_lib:format("content of ~ts of ~ts", [Path, Node]);
object({disk, Node, Path}) -> io_lib:format("~ts of ~ts", [Path, Node]);
object({views, Node}) -> io_lib:format("connections of ~ts", [Node]);
object({break, From, To}) -> io_lib:format("line from ~ts to ~ts", [From, To]);
object({Module, Number, Index}) -> io_lib:format("~tw ~tw at ~w", [Module, Number, Index]).

table({_, Name}) -> io_lib:format("~tw", [Name]);
table(Reference) -> io_lib:format("~w", [erlang:phash2(Reference, 1000)]).

waits(<<"receive ", _/binary>>) -> " waits in ";
waits(_) -> " waits at ".

%% What is wrong with a run, for a person.
result(#{verdict := {failed, <<"assertion">>, _, Message, _}}) -> ["the test failed: ", Message];
result(#{verdict := {failed, <<"deadlock">>, _, _, _}, blocked := Blocked}) ->
    ["deadlock: nobody can go on",
     [["\n  ", Who, waits(Where), Where] || {Who, Where} <- Blocked]];
result(#{verdict := {failed, <<"step-limit">>, _, _, _}}) -> "the run did not end within the step limit";
result(#{verdict := {failed, <<"time-limit">>, _, _, _}}) -> "the run did not end within the limit of its virtual time";
result(#{verdict := {failed, Kind, _, _, _}}) -> Kind;
result(#{verdict := {refused, {Module, Function, Arity} = What, {module, Why}, Place}}) ->
    Remedy = case Why of
                 no_elixir -> "";
                 {no_debug_info, _} -> ["; compile it by erlc +debug_info, or with debug_info in the erl_opts of rebar.config", raddle_allow:otherwise(What)];
                 _ -> raddle_allow:remedy(What)
             end,
    io_lib:format("~ts, reached from ~ts, cannot be controlled, so nothing can be said about this program: ~ts~ts",
                  [raddle_elixir:function(Module, Function, Arity), Place, refusal(Why), Remedy]);
result(#{verdict := {refused, {Module, Function, Arity} = What, _, Place}}) ->
    io_lib:format("~ts at ~ts is not under control, so nothing can be said about this program~ts",
                  [raddle_elixir:function(Module, Function, Arity), Place, raddle_allow:remedy(What)]);
result(#{verdict := {stuck, Stacks}}) ->
    ["no process came to an operation in time; a loop without one? ", io_lib:format("~0tp", [Stacks])];
result(#{verdict := {broken, What}}) -> ["a bug of Raddle: ", What];
result(#{verdict := cut_off}) -> "the run was cut off";
result(#{verdict := inconclusive}) -> "inconclusive: the run did not end within the step limit";
result(#{verdict := passed}) -> "passed".

%% The line of the program that the running process is at or, where a function was called last of all, that of its caller.
caller() ->
    {current_stacktrace, Stack} = erlang:process_info(self(), current_stacktrace),
    Lines = [{File, Line} || {Module, _, _, Info} <- Stack, raddle_modules:original(Module) =/= Module,
                             {line, Line} <- Info, {file, File} <- Info],
    case Lines of
        [{File, Line} | _] -> filename:basename(File) ++ ":" ++ integer_to_list(Line);
        [] -> raddle_modules:place(?AT_START)
    end.

%% Why a module has no controlled copy.
refusal({no_debug_info, Module}) -> io_lib:format("module ~tw was compiled without debug_info", [Module]);
refusal({native_functions, Module}) -> io_lib:format("module ~tw has native functions", [Module]);
refusal(no_elixir) -> "Elixir is not found, which has to read its debug information; put `elixir` into PATH, or name its ebin by --pa";
refusal({cannot_instrument, Module, Errors}) -> io_lib:format("the copy of module ~tw does not compile: ~0tp", [Module, Errors]);
refusal(Why) -> io_lib:format("~0tp", [Why]).
