%% The error handler of controlled processes: a call into a module that is not loaded under its controlled
%% name loads it.
-module(raddle_handler).
-export([undefined_function/3, undefined_lambda/3]).

undefined_function(Module, Function, Arguments) ->
    case raddle_modules:original(Module) of
        Module -> error_handler:undefined_function(Module, Function, Arguments);
        Original ->
            case erlang:module_loaded(Module) of
                true -> undefined(Module, Function, Arguments);
                false ->
                    case raddle_modules:load(Original) of
                        ok -> erlang:apply(Module, Function, Arguments);
                        missing -> undefined(Original, Function, Arguments);
                        {refused, Why} -> raddle_allow:without_copy(Original, Function, Arguments, Why)
                    end
            end
    end.

undefined_lambda(Module, Fun, Arguments) -> error_handler:undefined_lambda(Module, Fun, Arguments).

%% A module may define a handler for undefined functions.
undefined(Module, Function, Arguments) ->
    case erlang:function_exported(Module, '$handle_undefined_function', 2) of
        true -> erlang:apply(Module, '$handle_undefined_function', [Function, Arguments]);
        false -> error_handler:raise_undef_exception(raddle_modules:original(Module), Function, Arguments)
    end.
