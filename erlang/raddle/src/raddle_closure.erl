%% Converts functions of the host to functions of a controlled module. A test is written `raddle:test(fun() ->
%% .. end)` in a module that is not controlled itself; the same expression of the controlled copy must run,
%% with the same values of its free variables.
%%
%% The two are matched by the source location of the expression, and by index if a location has several
%% (Elixir has no columns). The function is then created from its compiler-generated name, in the external
%% format. If that fails, a message asks for a named function of the module instead.
-module(raddle_closure).
-export([controlled/1]).
-include("raddle_run.hrl").

%% Returns the function of the controlled copy with the same source as Fun, which was created by an
%% expression.
controlled(Fun) ->
    #{module := Module, name := Name, arity := Arity, env := Env} = maps:from_list(erlang:fun_info(Fun)),
    case raddle_modules:load(Module) of
        ok -> ok;
        missing -> fail({no_such_module, Module});
        {refused, Why} -> erlang:error({raddle_error, lists:flatten(raddle_report:refusal(Why))})
    end,
    Beam = case code:get_object_code(Module) of
               {Module, Found, _} -> Found;
               error -> fail({no_such_module, Module})
           end,
    Forms = raddle_forms:forms(Beam),
    Functions = functions(Forms),
    {Position, Index} = case [At || {Known, At} <- Functions, Known =:= Name] of
                            [At] -> {At, length(lists:takewhile(fun(Known) -> Known =/= Name end, standing(At, Functions)))};
                            _ -> fail({not_found, Module, Name})
                        end,
    Ours = raddle_modules:name(Module),
    {file, File} = code:is_loaded(Ours),
    {ok, Code} = file:read_file(File),
    Names = lists:sublist(standing(Position, functions(raddle_forms:forms(Code))), Index + 1, 1),
    case [Entry || Known <- Names, Entry <- table(Code), element(1, Entry) =:= Known] of
        [{_, Whole, Number, Free, Unique}] when Free =:= length(Env), Whole - Free =:= Arity ->
            make(Ours, Arity, Number, Unique, [value(Value) || Value <- Env]);
        _ -> fail({not_found_under_control, Module, Name})
    end.

fail(Why) -> erlang:error({raddle_error, {name_a_function_instead, Why}}).

%% Values may be functions too.
value(Value) when is_function(Value) ->
    case maps:from_list(erlang:fun_info(Value)) of
        #{type := local} -> controlled(Value);
        #{module := Module, name := Name, arity := Arity} -> raddle_call:make_fun(Module, Name, Arity, ?AT_START)
    end;
value([Head | Tail]) -> [value(Head) | value(Tail)];
value(Tuple) when is_tuple(Tuple) -> list_to_tuple(value(tuple_to_list(Tuple)));
value(Map) when is_map(Map) -> maps:from_list(value(maps:to_list(Map)));
value(Value) -> Value.

standing(Position, Functions) -> [Name || {Name, At} <- Functions, At =:= Position].

%% Returns the compiler-generated names of the function expressions of some forms, each with its location,
%% except those created by the instrumenter.
functions(Forms) ->
    {ok, _, Core} = compile:noenv_forms(Forms, [to_core0, binary]),
    lists:append(cerl_trees:fold(fun(Node, Found) ->
                                     case cerl:type(Node) of
                                         'fun' -> [named(cerl:get_ann(Node)) | Found];
                                         _ -> Found
                                     end
                                 end, [], Core)).

named(Annotations) ->
    case {not lists:member(compiler_generated, Annotations) andalso lists:keyfind(id, 1, Annotations), [At || At <- Annotations, is_integer(At) orelse is_position(At)]} of
        {{id, {_, _, Name}}, [At | _]} -> [{Name, At}];
        _ -> []
    end.

is_position({Line, Column}) -> is_integer(Line) andalso is_integer(Column);
is_position(_) -> false.

%% Returns the functions of a module that were expressions: name, arity with free variables, index, number of
%% free variables, old identity.
table(Code) ->
    {ok, {_, [{"FunT", <<_:32, Entries/binary>>}, {atoms, Atoms}]}} = beam_lib:chunks(Code, ["FunT", atoms]),
    [{proplists:get_value(Atom, Atoms), Arity, Index, Free, Unique}
     || <<Atom:32, Arity:32, _:32, Index:32, Free:32, Unique:32>> <= Entries].

make(Module, Arity, Index, Unique, Env) ->
    Part = fun(Term) -> <<131, Bytes/binary>> = term_to_binary(Term), Bytes end,
    Body = iolist_to_binary([<<Arity>>, Module:module_info(md5), <<Index:32, (length(Env)):32>>, Part(Module), Part(Index),
                             Part(Unique), Part(self()) | [Part(Value) || Value <- Env]]),
    binary_to_term(<<131, 112, (byte_size(Body) + 4):32, Body/binary>>).
