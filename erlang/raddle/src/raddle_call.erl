%% Calls with dynamic targets, and functions as values.
-module(raddle_call).
-export([returned/1, self/0, self/1, node/0, node/1, call/4, make_fun/4, function_exported/4, module_loaded/2, module_info/2, module_info/3]).
-compile({no_auto_import, [self/0, node/0, node/1, module_loaded/1]}).
-include("raddle_run.hrl").

%% The result of a call of a library that would be the last one of its function. So the line of the call stays on
%% the stack, for reports.
returned(Result) -> Result.

self() -> (erlang:get('$raddle'))#me.pid.
self(_) -> self().
node() -> (erlang:get('$raddle'))#me.node.
node(_) -> node().

call(Module, Function, Arguments, Location) when is_atom(Module), is_atom(Function) ->
    case raddle_modules:sort(Module) of
        {controlled, Ours} -> erlang:apply(Ours, Function, Arguments);
        native -> erlang:apply(raddle_forms:as_is(Module, Function, length(Arguments)), Function, Arguments);
        builtin -> raddle_bif:call(Function, Arguments, Location);
        ets -> raddle_ets:call(Function, Arguments, Location);
        library -> raddle_library:call(Module, Function, Arguments, Location);
        refused -> raddle_allow:call(Module, Function, Arguments, Location)
    end;
call(Module, Function, Arguments, _) -> erlang:apply(Module, Function, Arguments). % Raises the appropriate exception.

make_fun(Module, Function, Arity, Location) when is_atom(Module), is_atom(Function) ->
    Call = fun(Arguments) -> call(Module, Function, Arguments, Location) end,
    case raddle_modules:sort(Module) of
        {controlled, Ours} -> erlang:make_fun(Ours, Function, Arity);
        native -> erlang:make_fun(raddle_forms:as_is(Module, Function, Arity), Function, Arity);
        _ ->
            case Arity of
                0 -> fun() -> Call([]) end;
                1 -> fun(A) -> Call([A]) end;
                2 -> fun(A, B) -> Call([A, B]) end;
                3 -> fun(A, B, C) -> Call([A, B, C]) end;
                4 -> fun(A, B, C, D) -> Call([A, B, C, D]) end;
                5 -> fun(A, B, C, D, E) -> Call([A, B, C, D, E]) end;
                _ -> raddle_turn:refuse({Module, Function, Arity}, [], Location)
            end
    end;
make_fun(_, _, _, _) -> erlang:error(badarg).

function_exported(Module, Function, Arity, _) ->
    case raddle_modules:sort(Module) of
        {controlled, Ours} ->
            case raddle_modules:load(Module) of
                ok -> erlang:function_exported(Ours, Function, Arity);
                missing -> false;
                {refused, _} -> exported(Module, Function, Arity)
            end;
        _ -> exported(Module, Function, Arity)
    end.

%% A module that runs unmodified may not have been loaded yet.
exported(Module, Function, Arity) ->
    erlang:module_loaded(Module) orelse raddle_modules:load_host(Module),
    erlang:function_exported(Module, Function, Arity) orelse erlang:is_builtin(Module, Function, Arity).

module_loaded(Module, _) ->
    case raddle_modules:sort(Module) of
        {controlled, _} -> raddle_modules:load(Module) =/= missing;
        _ -> erlang:module_loaded(Module)
    end.

module_info(Module, Location) -> call(Module, module_info, [], Location).
module_info(Module, Item, Location) -> call(Module, module_info, [Item], Location).
