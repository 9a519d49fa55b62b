%% Texts of reports.
-module(raddle_report).
-export([reason/1, crash/1, missing/2, not_found/2, uncontrolled/1, pid/4, object/1, result/1, refusal/1, plain/1, caller/0]).
-include("raddle_run.hrl").

%% The maximum number of exported functions in a message.
-define(MOST_EXPORTS, 8).

%% The maximum number of frames of a stack in a term.
-define(MOST_FRAMES, 3).

%% Returns the reason for the end of a process, in one line, and the location if known.
reason({normal, _}) -> "normal";
reason({exit, {Reason, [_ | _] = Stack} = Both, _}) ->
    case is_stack(Stack) of
        true -> [line("exit: ", Reason), where(Stack)];
        false -> line("exit: ", Both)
    end;
reason({exit, Reason, Stack}) -> [line("exit: ", Reason), where(in_program(raddle_process:clean(Stack)))];
reason({error, undef, [{Module, Function, Arguments, _} | _] = Stack}) when is_list(Arguments) ->
    io_lib:format("error: undef: there is no ~ts~ts", [raddle_elixir:function(raddle_modules:original(Module), Function, length(Arguments)), where(raddle_process:clean(tl(Stack)))]);
reason({Class, Reason, Stack}) ->
    [line(atom_to_list(Class) ++ ": ", Reason), where(raddle_process:clean(Stack))].

%% Returns how a process ended, for the report of the run, if that was an exception.
crash({Reason, [_ | _] = Stack}) ->
    case is_stack(Stack) of
        true -> [line("ended by an exception: ", Reason), where(Stack)];
        false -> none
    end;
crash(_) -> none.

%% Reports that a module does not export the test function, and what it exports instead.
missing(Module, Function) ->
    Exports = lists:sort(Module:module_info(exports)) -- [{module_info, 0}, {module_info, 1}],
    Shown = fun(Functions) -> lists:join(", ", [io_lib:format("~ts/~w", [Name, Arity]) || {Name, Arity} <- lists:sublist(Functions, ?MOST_EXPORTS)]) end,
    Hint = case {[Export || {Name, _} = Export <- Exports, Name =:= Function], [Export || {_, 0} = Export <- Exports]} of
               {[_ | _] = Same, _} -> ["; it exports ", Shown(Same), ", but a test must have no arguments"];
               {[], [_ | _] = Tests} -> ["; without arguments it exports ", Shown(Tests), [", .." || length(Tests) > ?MOST_EXPORTS]];
               {[], []} -> ""
           end,
    [io_lib:format("module ~ts exports no function ~ts/0", [raddle_elixir:module(Module), Function]), Hint].

%% Reports that a module was not found. Elixir's modules have a prefix.
not_found(Module, Function) ->
    Name = raddle_elixir:module(Module),
    Elixir = "Elixir." ++ atom_to_list(Module),
    case code:where_is_file(Elixir ++ ".beam") of
        non_existing -> io_lib:format("module ~ts not found\nhelp: name the directory of its .beam file with --pa (erl -pa for raddle:test)", [Name]);
        _ -> io_lib:format("module ~ts not found\nhelp: for the module of Elixir, write ~ts.~ts", [Name, Name, Function])
    end.

%% Reports that the module of the test has no controlled copy.
uncontrolled(Module) -> [refusal({no_debug_info, Module}), "\n", help_for_forms()].

help_for_forms() -> "help: compile it with erlc +debug_info, or with debug_info in the erl_opts of rebar.config".

line(Prefix, Term) -> [Prefix, plain(folded(Term))].

%% Formats a term in one line, with the stacks in it shortened to the functions of the program.
folded(Term) ->
    {Short, Stacks} = fold(Term, []),
    lists:foldl(fun({Mark, Stack}, Text) ->
                    string:replace(Text, io_lib:format("~0tp", [Mark]), stack(Stack))
                end, term(Short), Stacks).

%% Replaces each stack in a term by a mark.
fold([_ | _] = List, Stacks) ->
    case is_stack(List) of
        true ->
            Mark = {'$raddle_stack', length(Stacks)},
            {Mark, [{Mark, List} | Stacks]};
        false -> fold_list(List, Stacks)
    end;
fold(Tuple, Stacks) when is_tuple(Tuple) ->
    {List, More} = fold_list(tuple_to_list(Tuple), Stacks),
    {list_to_tuple(List), More};
fold(Term, Stacks) -> {Term, Stacks}.

fold_list([Head | Tail], Stacks) ->
    {Short, More} = fold(Head, Stacks),
    {Rest, All} = fold_list(Tail, More),
    {[Short | Rest], All};
fold_list(End, Stacks) -> fold(End, Stacks).

stack(Stack) ->
    case [Text || Frame <- in_program(Stack), [" in " | Text] <- [where([Frame])]] of
        [] -> "[..]";
        Texts -> ["[", lists:join(", ", lists:sublist(Texts, ?MOST_FRAMES)), [", .." || length(Texts) > ?MOST_FRAMES], "]"]
    end.

is_stack([_ | _] = List) -> length_of(List) =/= improper andalso lists:all(fun is_frame/1, List);
is_stack(_) -> false.

length_of(List) -> try length(List) catch error:badarg -> improper end.

is_frame({Module, Function, Arity, Info}) when is_atom(Module), is_atom(Function), is_list(Info) ->
    (is_integer(Arity) orelse is_list(Arity))
        andalso length_of(Info) =/= improper andalso lists:all(fun(Item) -> is_tuple(Item) andalso tuple_size(Item) =:= 2 end, Info);
is_frame(_) -> false.

%% Returns the frames that are not those of OTP and Elixir.
in_program(Stack) -> [Frame || Frame <- Stack, not raddle_modules:is_library(element(1, Frame))].

%% Formats a term in one line, with maps in the order of their keys (see raddle_map).
-if(?OTP_RELEASE >= 26).
term(Term) -> io_lib:format("~0tkp", [Term]).
-else.
term(Term) -> io_lib:format("~0tp", [Term]).
-endif.

%% Returns a text in a form that is the same in every VM: the first number of a pid or reference stands for
%% its node, and depends on the loaded code.
plain(Text) ->
    re:replace(unicode:characters_to_binary(Text), "(<|#Ref<)[0-9]+(\\.[0-9]+)", "\\g{1}0\\g{2}", [global, unicode, {return, binary}]).

%% Returns the innermost function of the program, or of a library if there is none.
where(Stack) ->
    Lines = fun(Frames) -> [{Frame, Line} || {_, _, _, Info} = Frame <- Frames, {line, Line} <- Info] end,
    case Lines(in_program(Stack)) ++ Lines(Stack) of
        [{{Module, Function, Arity, Info}, Line} | _] ->
            Count = if is_list(Arity) -> length(Arity); true -> Arity end,
            File = filename:basename(proplists:get_value(file, Info, "?")),
            {Name, Arguments} = named(atom_to_list(Function), Count),
            [" in ", io_lib:format("~ts (~ts:~w)", [raddle_elixir:function(Module, Name, Arguments), File, Line])];
        [] -> ""
    end.

%% Returns the function of the source that contains a function expression or a comprehension.
named([$- | Inner] = Whole, Count) ->
    case re:run(Inner, "^(.+?)/([0-9]+)-(?:fun|lc|lbc|blc|bbc|mc|lmc|mlc|anonymous)", [{capture, all_but_first, list}]) of
        {match, [Name, Outer]} -> {list_to_atom(Name), list_to_integer(Outer)};
        nomatch -> {list_to_atom(Whole), Count}
    end;
named(Name, Count) -> {list_to_atom(Name), Count}.

%% Formats a process of a run whose test is Main, with its last registered name. The node is included if it is
%% not that of the test.
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
object({link, Pid, Other}) -> io_lib:format("link of ~w and ~w", [raddle_info:number(Pid), raddle_info:number(Other)]);
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

%% Describes the failure of a run.
result(#{verdict := {failed, <<"assertion">>, _, Message, _}}) -> ["the test failed: ", Message];
result(#{verdict := {failed, <<"deadlock">>, _, _, _}, blocked := Blocked}) ->
    ["deadlock: no process can continue",
     [["\n  ", Who, waits(Where), Where] || {Who, Where} <- Blocked]];
result(#{verdict := {failed, <<"step-limit">>, _, _, _}}) -> "the run did not end within the step limit";
result(#{verdict := {failed, <<"time-limit">>, _, _, _}}) -> "the run did not end within the limit of its virtual time";
result(#{verdict := {failed, Kind, _, _, _}}) -> Kind;
result(#{verdict := {refused, {Module, Function, Arity} = What, {module, Why}, Location}}) ->
    Remedy = case Why of
                 no_elixir -> "";
                 {no_debug_info, _} -> ["\n", help_for_forms(), raddle_allow:otherwise(What)];
                 _ -> raddle_allow:remedy(What)
             end,
    io_lib:format("~ts, reached from ~ts, cannot be controlled, so the result is inconclusive: ~ts~ts",
                  [raddle_elixir:function(Module, Function, Arity), Location, refusal(Why), Remedy]);
result(#{verdict := {refused, {Module, Function, Arity} = What, _, Location}}) ->
    io_lib:format("~ts at ~ts is not controlled, so the result is inconclusive~ts",
                  [raddle_elixir:function(Module, Function, Arity), Location, raddle_allow:remedy(What)]);
result(#{verdict := {stuck, Stacks}}) ->
    ["no process reached an operation in time; most likely a loop without one: ", io_lib:format("~0tp", [Stacks])];
result(#{verdict := {broken, What}}) -> ["internal error: ", What];
result(#{verdict := cut_off}) -> "the run was pruned";
result(#{verdict := inconclusive}) -> "inconclusive: the run did not end within the step limit";
result(#{verdict := passed}) -> "passed".

%% Returns the line of the program that the running process executes or, if the last call is a runtime
%% function, that of its caller.
caller() ->
    {current_stacktrace, Stack} = erlang:process_info(self(), current_stacktrace),
    Lines = [{File, Line} || {Module, _, _, Info} <- Stack, raddle_modules:original(Module) =/= Module,
                             {line, Line} <- Info, {file, File} <- Info],
    case Lines of
        [{File, Line} | _] -> filename:basename(File) ++ ":" ++ integer_to_list(Line);
        [] -> raddle_modules:location(?AT_START)
    end.

%% Returns the reason why a module has no controlled copy.
refusal({no_debug_info, Module}) -> io_lib:format("module ~tw was compiled without debug_info", [Module]);
refusal({native_functions, Module}) -> io_lib:format("module ~tw has native functions", [Module]);
refusal(no_elixir) -> "Elixir, which reads its debug information, was not found\nhelp: put `elixir` into PATH, or name its ebin folder with --pa";
refusal({cannot_instrument, Module, Errors}) -> io_lib:format("the copy of module ~tw does not compile: ~0tp", [Module, Errors]);
refusal(Why) -> io_lib:format("~0tp", [Why]).
