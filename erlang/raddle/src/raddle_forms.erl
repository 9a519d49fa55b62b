%% The instrumenter. Converts the abstract forms of a module into those of its controlled copy: everything
%% observable goes through the runtime, with its location number; everything else is unchanged.
-module(raddle_forms).
-export([instrument/3, forms/1, as_is/3]).

-define(MOST_LOCATIONS, 16#3fff).
-define(MOST_OF_PATTERNS, 160).

%% Returns the code of the controlled copy of a module. Throws {refused, Why} for a module that cannot be
%% controlled.
instrument(Module, Beam, Base) ->
    Forms = forms(Beam),
    (lists:keymember(on_load, 3, Forms) orelse loads(Forms)) andalso throw({refused, {native_functions, Module}}),
    Kept = erl_expand_records:module([Form || Form <- Forms, keep(Form)], [strict_record_tests]),
    erlang:put(locations, []),
    erlang:put(next, 0),
    erlang:put(base, Base),
    erlang:put(file, atom_to_list(Module) ++ ".erl"),
    erlang:put(library, raddle_modules:is_library(Module)),
    erlang:put(local, maps:from_list([{{Name, Arity}, true} || {function, _, Name, Arity, _} <- Kept])),
    erlang:put(counted, maps:from_keys(counted(Kept), true)),
    New = lists:append([form(Form) || Form <- Kept]),
    Locations = {attribute, erl_anno:new(0), raddle_locations, lists:reverse(erlang:get(locations))},
    {Before, After} = lists:splitwith(fun(Form) -> element(1, Form) =/= function end, New),
    case compile:noenv_forms(Before ++ [Locations | After], [binary, return_errors, deterministic, debug_info]) of
        {ok, _, Code} -> Code;
        {ok, _, Code, _} -> Code;
        {error, Errors, _} -> throw({refused, {cannot_instrument, Module, Errors}})
    end.

%% Returns the abstract forms of a module.
forms(Beam) ->
    case beam_lib:chunks(Beam, [abstract_code]) of
        {ok, {_, [{abstract_code, {raw_abstract_v1, Forms}}]}} -> [tolerant(Form) || Form <- Forms];
        {ok, {Module, _}} -> throw({refused, {no_debug_info, Module}});
        {error, beam_lib, {missing_backend, _, elixir_erl}} -> throw({refused, no_elixir});
        {error, beam_lib, Why} -> throw({refused, Why})
    end.

%% Returns true if a module loads native functions on request.
loads({remote, _, {atom, _, erlang}, {atom, _, load_nif}}) -> true;
loads(Tuple) when is_tuple(Tuple) -> loads(tuple_to_list(Tuple));
loads([Head | Tail]) -> loads(Head) orelse loads(Tail);
loads(_) -> false.

%% A copy may cause warnings that the module itself does not.
tolerant({attribute, Anno, compile, Options}) when is_list(Options) ->
    {attribute, Anno, compile, lists:delete(warnings_as_errors, Options)};
tolerant({attribute, Anno, compile, warnings_as_errors}) -> {attribute, Anno, compile, []};
tolerant(Form) -> Form.

keep({attribute, _, Name, _}) ->
    not lists:member(Name, [spec, callback, optional_callbacks, type, opaque, dialyzer, deprecated, export_type,
                            deprecated_type, removed, removed_type, behaviour, behavior, doc, moduledoc, nominal]);
keep(_) -> true.

form({attribute, _, record, _}) -> [];
form({attribute, Anno, module, Module}) -> [{attribute, Anno, module, raddle_modules:name(Module)}];
form({attribute, _, file, {File, _}} = Form) ->
    erlang:put(file, filename:basename(File)),
    [Form];
form({function, Anno, Name, Arity, Clauses}) ->
    Heads = heads(Anno, Arity, last(Clauses)),
    [{function, Anno, Name, Arity, case maps:is_key({Name, Arity}, erlang:get(counted)) of true -> count(Anno, Heads); false -> Heads end}];
form(Form) -> [Form].

%% ---- loops without an operation

%% Returns the functions whose calls are counted, so that there is one in every loop: the exported ones,
%% through which loops over several modules go, and those that reach themselves by local calls.
counted(Forms) ->
    All = [{Name, Arity} || {function, _, Name, Arity, _} <- Forms],
    Exported = case [all || {attribute, _, compile, Options} <- Forms, lists:member(export_all, lists:flatten([Options]))] of
                   [] -> lists:append([List || {attribute, _, export, List} <- Forms]);
                   _ -> All
               end,
    Graph = digraph:new(),
    try
        Functions = [{{Name, Arity}, Clauses} || {function, _, Name, Arity, Clauses} <- Forms],
        [digraph:add_vertex(Graph, Function) || Function <- All],
        %% A local function that is a value may be called from anywhere.
        Values = [Called || {Function, Clauses} <- Functions, {How, Called} <- named(Clauses),
                            case How of call -> digraph:add_edge(Graph, Function, Called), false; value -> true end],
        lists:usort(Exported ++ Values ++ lists:append(digraph_utils:cyclic_strong_components(Graph)))
    after
        digraph:delete(Graph)
    end.

%% Returns the names that could be local functions, each with its use.
named({call, _, {atom, _, Name}, Arguments}) -> [{call, {Name, length(Arguments)}} | named(Arguments)];
named({'fun', _, {function, Name, Arity}}) -> [{value, {Name, Arity}}];
named(Tuple) when is_tuple(Tuple) -> named(tuple_to_list(Tuple));
named([Head | Tail]) -> named(Head) ++ named(Tail);
named(_) -> [].

count(Anno, Clauses) ->
    Count = ours(Anno, raddle_turn, count, []),
    [{clause, At, Patterns, Guard, [Count | Body]} || {clause, At, Patterns, Guard, Body} <- Clauses].

%% ---- guards with self() or node()

%% Instruments the clauses of a function. If a guard calls self() or node(), the value is computed first and
%% then the clause is chosen.
heads(Anno, Arity, Clauses) ->
    case asks(Clauses) of
        false -> clauses(Clauses);
        true ->
            Arguments = [{var, Anno, new_name("Argument")} || _ <- lists:seq(1, Arity)],
            Cases = [{clause, At, [{tuple, At, Patterns}], Guard, Body}
                     || {clause, At, Patterns, Guard, Body} <- Clauses],
            Otherwise = {clause, Anno, [{var, Anno, '_'}], [], [remote(Anno, erlang, error, [{atom, Anno, function_clause}])]},
            {Questions, Answered} = answer(Anno, Cases),
            [{clause, Anno, Arguments, [],
              Questions ++ [{'case', Anno, {tuple, Anno, Arguments}, clauses(Answered) ++ [Otherwise]}]}]
    end.

guarded(Anno, Clauses, Make) ->
    case asks(Clauses) of
        false -> Make(Clauses);
        true ->
            {Questions, Answered} = answer(Anno, Clauses),
            {block, Anno, Questions ++ [Make(Answered)]}
    end.

asks(Clauses) -> lists:any(fun({clause, _, _, Guard, _}) -> question(Guard) end, Clauses).

question({call, _, {atom, _, Name}, []}) -> Name =:= self orelse Name =:= node;
question({call, _, {remote, _, {atom, _, erlang}, {atom, _, Name}}, []}) -> Name =:= self orelse Name =:= node;
question(Tuple) when is_tuple(Tuple) -> question(tuple_to_list(Tuple));
question([Head | Tail]) -> question(Head) orelse question(Tail);
question(_) -> false.

answer(Anno, Clauses) ->
    Self = {var, Anno, new_name("Self")},
    Node = {var, Anno, new_name("Node")},
    {[{match, Anno, Self, remote(Anno, raddle_call, self, [])}, {match, Anno, Node, remote(Anno, raddle_call, node, [])}],
     [{clause, At, Patterns, replace(Guard, Self, Node), Body} || {clause, At, Patterns, Guard, Body} <- Clauses]}.

replace({call, _, {atom, _, self}, []}, Self, _) -> Self;
replace({call, _, {atom, _, node}, []}, _, Node) -> Node;
replace({call, _, {remote, _, {atom, _, erlang}, {atom, _, self}}, []}, Self, _) -> Self;
replace({call, _, {remote, _, {atom, _, erlang}, {atom, _, node}}, []}, _, Node) -> Node;
replace(Tuple, Self, Node) when is_tuple(Tuple) -> list_to_tuple(replace(tuple_to_list(Tuple), Self, Node));
replace([Head | Tail], Self, Node) -> [replace(Head, Self, Node) | replace(Tail, Self, Node)];
replace(Other, _, _) -> Other.

new_name(Stem) ->
    Number = erlang:get(next),
    erlang:put(next, Number + 1),
    list_to_atom(Stem ++ "@raddle" ++ integer_to_list(Number)).

%% ---- expressions

clauses(Clauses) -> [clause(Clause) || Clause <- Clauses].

clause({clause, Anno, Patterns, Guard, Body}) -> {clause, Anno, Patterns, Guard, each(Body)}.

%% ---- calls that are the last of a function

%% Marks the calls of libraries that are the last of a function of the program, and so would take its line from
%% the stack.
last(Clauses) ->
    case erlang:get(library) of
        true -> Clauses;
        false -> last_clauses(Clauses)
    end.

last_clauses(Clauses) -> [{clause, Anno, Patterns, Guard, last_body(Body)} || {clause, Anno, Patterns, Guard, Body} <- Clauses].

last_body(Body) ->
    {Before, [Last]} = lists:split(length(Body) - 1, Body),
    Before ++ [last_expression(Last)].

last_expression({call, Anno, {remote, _, {atom, _, Module}, {atom, _, _}}, _} = Call) ->
    case raddle_modules:sort(Module) of
        {controlled, _} -> case raddle_modules:is_library(Module) of true -> {last, Anno, Call}; false -> Call end;
        _ -> Call
    end;
last_expression({'case', Anno, Subject, Clauses}) -> {'case', Anno, Subject, last_clauses(Clauses)};
last_expression({'if', Anno, Clauses}) -> {'if', Anno, last_clauses(Clauses)};
last_expression({'receive', Anno, Clauses}) -> {'receive', Anno, last_clauses(Clauses)};
last_expression({'receive', Anno, Clauses, Time, After}) -> {'receive', Anno, last_clauses(Clauses), Time, last_body(After)};
last_expression({block, Anno, Body}) -> {block, Anno, last_body(Body)};
last_expression(Expression) -> Expression.

each(Expressions) -> [expression(Expression) || Expression <- Expressions].

expression({op, Anno, '!', To, Message}) -> ours(Anno, raddle_mailbox, send, [expression(To), expression(Message)]);
expression({'receive', Anno, Clauses}) ->
    guarded(Anno, Clauses, fun(Given) -> receives(Anno, Given, {atom, Anno, infinity}, []) end);
expression({'receive', Anno, Clauses, Time, After}) ->
    Late = {clause, Anno, [{atom, Anno, '$late'}], [], each(After)},
    guarded(Anno, Clauses, fun(Given) -> receives(Anno, Given, expression(Time), [Late]) end);
expression({'case', Anno, Subject, Clauses}) ->
    guarded(Anno, Clauses, fun(Given) -> {'case', Anno, expression(Subject), clauses(Given)} end);
expression({'if', Anno, Clauses}) -> guarded(Anno, Clauses, fun(Given) -> {'if', Anno, clauses(Given)} end);
expression({'try', Anno, Body, Of, Catch, After}) ->
    guarded(Anno, Of, fun(Of1) ->
        guarded(Anno, Catch, fun(Catch1) -> {'try', Anno, each(Body), clauses(Of1), caught(clauses(Catch1)), each(After)} end)
    end);
expression({'catch', Anno, Body}) ->
    %% As defined, except for the stack.
    [Value, Reason, Stack] = [{var, Anno, new_name(Stem)} || Stem <- ["Value", "Reason", "Stack"]],
    Exit = fun(Why) -> {tuple, Anno, [{atom, Anno, 'EXIT'}, Why]} end,
    Any = {var, Anno, '_'},
    Clause = fun(Class, Why, Trace, Result) -> {clause, Anno, [{tuple, Anno, [{atom, Anno, Class}, Why, Trace]}], [], [Result]} end,
    {'try', Anno, [expression(Body)], [],
     caught([Clause(throw, Value, Any, Value), Clause(exit, Reason, Any, Exit(Reason)),
             Clause(error, Reason, Stack, Exit({tuple, Anno, [Reason, Stack]}))]), []};
expression({'maybe', Anno, Body, {'else', At, Clauses}}) ->
    guarded(Anno, Clauses, fun(Given) -> {'maybe', Anno, each(Body), {'else', At, clauses(Given)}} end);
expression({'fun', Anno, {clauses, [{clause, _, Patterns, _, _} | _] = Clauses}}) ->
    {'fun', Anno, {clauses, count(Anno, heads(Anno, length(Patterns), last(Clauses)))}};
expression({named_fun, Anno, Name, [{clause, _, Patterns, _, _} | _] = Clauses}) ->
    {named_fun, Anno, Name, count(Anno, heads(Anno, length(Patterns), last(Clauses)))};
expression({'fun', Anno, {function, Name, Arity}} = Fun) ->
    case is_local(Name, Arity) of
        true -> Fun;
        false -> value(Anno, erlang, Name, Arity)
    end;
expression({'fun', Anno, {function, {atom, _, Module}, {atom, _, Name}, {integer, _, Arity}}}) ->
    value(Anno, Module, Name, Arity);
expression({'fun', Anno, {function, Module, Name, Arity}}) ->
    ours(Anno, raddle_call, make_fun, [expression(Module), expression(Name), expression(Arity)]);
expression({call, Anno, {remote, _, {atom, _, Module}, {atom, _, Name}}, Arguments}) ->
    calls(Anno, Module, Name, each(Arguments));
expression({call, Anno, {remote, _, Module, Name}, Arguments}) ->
    ours(Anno, raddle_call, call, [expression(Module), expression(Name), list(Anno, each(Arguments))]);
expression({call, Anno, {atom, At, Name}, Arguments}) ->
    Arity = length(Arguments),
    case not is_local(Name, Arity) andalso erl_internal:bif(Name, Arity) of
        true -> calls(Anno, erlang, Name, each(Arguments));
        false -> {call, Anno, {atom, At, Name}, each(Arguments)}
    end;
expression({last, Anno, Call}) -> remote(Anno, raddle_call, returned, [expression(Call)]);
expression({match, Anno, Pattern, Value}) -> {match, Anno, Pattern, expression(Value)};
expression({maybe_match, Anno, Pattern, Value}) -> {maybe_match, Anno, Pattern, expression(Value)};
expression({Generate, Anno, Pattern, Value}) when Generate =:= m_generate; Generate =:= m_generate_strict ->
    {Generate, Anno, Pattern, remote(Anno, raddle_map, generator, [expression(Value)])};
expression({Generate, Anno, Pattern, Value})
  when Generate =:= generate; Generate =:= b_generate; Generate =:= generate_strict; Generate =:= b_generate_strict ->
    {Generate, Anno, Pattern, expression(Value)};
expression({clause, _, _, _, _} = Clause) -> clause(Clause);
expression({Literal, _, _} = Term)
  when Literal =:= atom; Literal =:= integer; Literal =:= float; Literal =:= string; Literal =:= char; Literal =:= var -> Term;
expression(Tuple) when is_tuple(Tuple), tuple_size(Tuple) > 1 ->
    [Kind, Anno | Parts] = tuple_to_list(Tuple),
    list_to_tuple([Kind, Anno | each(Parts)]);
expression(List) when is_list(List) -> each(List);
expression(Other) -> Other.

%% Caught stacks have the module names of the source, and no runtime frames.
caught(Clauses) -> [caught_by(Clause) || Clause <- Clauses].

caught_by({clause, Anno, [{tuple, At, [Class, Reason, {var, Here, Stack}]}], Guard, Body}) when Stack =/= '_' ->
    Raw = {var, Here, new_name("Raw")},
    Clean = {match, Here, {var, Here, Stack}, remote(Here, raddle_process, clean, [Raw])},
    {clause, Anno, [{tuple, At, [Class, Reason, Raw]}], Guard, [Clean | Body]};
caught_by(Clause) -> Clause.

is_local(Name, Arity) -> maps:is_key({Name, Arity}, erlang:get(local)).

%% Instruments a call of a known function. The arguments are already instrumented.
calls(Anno, Module, Name, Arguments) ->
    case raddle_modules:sort(Module) of
        native -> remote(Anno, as_is(Module, Name, length(Arguments)), Name, Arguments);
        {controlled, Ours} -> remote(Anno, Ours, Name, Arguments);
        builtin -> builtin(Anno, Name, Arguments);
        ets -> ours(Anno, raddle_ets, call, [{atom, Anno, Name}, list(Anno, Arguments)]);
        library -> ours(Anno, raddle_library, call, [{atom, Anno, Module}, {atom, Anno, Name}, list(Anno, Arguments)]);
        refused -> ours(Anno, raddle_allow, call, [{atom, Anno, Module}, {atom, Anno, Name}, list(Anno, Arguments)])
    end.

%% The module of a function that runs unmodified.
as_is(maps, Name, Arity) -> case raddle_map:is_ordered(Name, Arity) of true -> raddle_map; false -> maps end;
as_is(Module, _, _) -> Module.

builtin(Anno, self, []) -> remote(Anno, raddle_call, self, []);
builtin(Anno, node, []) -> remote(Anno, raddle_call, node, []);
builtin(Anno, apply, [Module, Name, Arguments]) -> ours(Anno, raddle_call, call, [Module, Name, Arguments]);
builtin(Anno, put, [{atom, _, '$process_label'}, Label]) -> ours(Anno, raddle_info, put_label, [Label]);
builtin(Anno, Name, Arguments) ->
    case raddle_bif:sort(Name, length(Arguments)) of
        pure -> remote(Anno, erlang, Name, Arguments);
        refused -> ours(Anno, raddle_bif, call, [{atom, Anno, Name}, list(Anno, Arguments)]);
        {Module, Ours} -> ours(Anno, Module, Ours, Arguments)
    end.

%% A function of a module as a value.
value(Anno, Module, Name, Arity) ->
    External = fun(Target) ->
                   {'fun', Anno, {function, {atom, Anno, Target}, {atom, Anno, Name}, {integer, Anno, Arity}}}
               end,
    case raddle_modules:sort(Module) of
        native -> External(as_is(Module, Name, Arity));
        {controlled, Ours} -> External(Ours);
        builtin ->
            case raddle_bif:sort(Name, Arity) of
                pure -> External(erlang);
                _ -> made(Anno, Module, Name, Arity)
            end;
        _ -> made(Anno, Module, Name, Arity)
    end.

made(Anno, Module, Name, Arity) ->
    ours(Anno, raddle_call, make_fun, [{atom, Anno, Module}, {atom, Anno, Name}, {integer, Anno, Arity}]).

%% Instruments a receive: requests the first message that one of its clauses matches, and then chooses the
%% clause.
receives(Anno, Clauses, Time, Late) ->
    Message = {var, Anno, new_name("Message")},
    Yes = [{clause, At, Patterns, Guard, [{atom, At, true}]} || {clause, At, Patterns, Guard, _} <- Clauses],
    No = {clause, Anno, [{var, Anno, '_'}], [], [{atom, Anno, false}]},
    Wanted = case Clauses of
                 [] -> {atom, Anno, none};
                 _ -> {'fun', erl_anno:set_generated(true, Anno),
                       {clauses, [{clause, Anno, [Message], [], [{'case', erl_anno:set_generated(true, Anno), Message, Yes ++ [No]}]}]}}
             end,
    Taken = [{clause, At, [{tuple, At, [{atom, At, '$m'}, Pattern]}], Guard, each(Body)}
             || {clause, At, [Pattern], Guard, Body} <- Clauses],
    Location = location(Anno, patterns(Clauses)),
    {'case', Anno, remote(Anno, raddle_mailbox, 'receive', [Wanted, Time, {integer, Anno, Location}]), Taken ++ Late}.

%% Returns the patterns of a receive, as in the source and in one line.
patterns([]) -> "nothing";
patterns(Clauses) ->
    Text = lists:flatten(lists:join("; ", [pattern(Clause) || Clause <- Clauses])),
    shortened(raddle_elixir:variables(Text, erlang:get(file))).

pattern({clause, _, [Pattern], [], _}) -> line(erl_pp:expr(Pattern));
pattern({clause, _, [Pattern], Guard, _}) ->
    [line(erl_pp:expr(Pattern)), " when ", lists:join("; ", [lists:join(", ", [line(erl_pp:expr(Test)) || Test <- Tests]) || Tests <- Guard])].

line(Text) -> lists:join($\s, string:lexemes(unicode:characters_to_list(Text), " \n\t")).

shortened(Text) when length(Text) > ?MOST_OF_PATTERNS -> lists:sublist(Text, ?MOST_OF_PATTERNS) ++ " ...";
shortened(Text) -> Text.

remote(Anno, Module, Name, Arguments) -> {call, Anno, {remote, Anno, {atom, Anno, Module}, {atom, Anno, Name}}, Arguments}.

%% A call into the runtime, which gets the location number as its last argument.
ours(Anno, Module, Name, Arguments) -> remote(Anno, Module, Name, Arguments ++ [{integer, Anno, location(Anno)}]).

location(Anno) -> location(Anno, none).

%% Numbers a location, with the patterns received there.
location(Anno, Patterns) ->
    Number = case erlang:get(locations) of
                 [] -> 1;
                 [Last | _] -> element(1, Last) + 1
             end,
    Line = erl_anno:line(Anno),
    Location = if Patterns =:= none -> {Number, erlang:get(file), Line}; true -> {Number, erlang:get(file), Line, Patterns} end,
    Number =< ?MOST_LOCATIONS andalso erlang:put(locations, [Location | erlang:get(locations)]),
    erlang:get(base) bsl 14 + min(Number, ?MOST_LOCATIONS).

list(Anno, Elements) -> lists:foldr(fun(Element, Tail) -> {cons, Anno, Element, Tail} end, {nil, Anno}, Elements).
