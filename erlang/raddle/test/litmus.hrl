%% Building blocks of litmus programs. Every exported function without arguments whose name begins with l_ is
%% a program; its value is its outcome.

%% On a real VM, may let other processes run; under control nothing, as the strategy does that.
d() ->
    case node() of
        nonode@nohost ->
            case rand:uniform(4) of
                1 -> ok;
                2 -> erlang:yield();
                3 -> spin(rand:uniform(300));
                4 -> timer:sleep(0)
            end;
        _ -> ok
    end.

spin(0) -> ok;
spin(N) -> spin(N - 1).

%% A process that begins a little later.
go(F) -> spawn(fun() -> d(), F() end).
watched(F) -> spawn_monitor(fun() -> d(), F() end).

%% Returns the next message, or the reason for the end of a monitored process.
get1() -> receive M -> M end.
why({_, R}) -> receive {'DOWN', R, process, _, W} -> plain(W) end.

%% Returns a reason without its stack, which has other locations in other builds.
plain({R, [T | _]}) when is_tuple(T), tuple_size(T) =:= 4 -> R;
plain(R) -> R.

%% Returns none if no message arrives in time, on a VM where time passes.
none() -> receive M -> M after 20 -> none end.

caught(F) -> try F() catch C:R -> {C, plain(R)} end.

-compile([nowarn_unused_function]).
