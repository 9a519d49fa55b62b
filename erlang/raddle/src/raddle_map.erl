%% Maps in an order that is the same in all VMs. Since OTP 26 the host's order depends on its atom table, even
%% for a few keys; so a controlled module traverses maps in the order of keys. Older releases do so for up to
%% 32 keys, and are unchanged.
-module(raddle_map).
-export([is_ordered/2, generator/1, to_list/1, keys/1, values/1, iterator/1, fold/3, foreach/2, map/2, filter/2, filtermap/2]).

%% Returns true if a function of maps has a replacement.
is_ordered(Function, Arity) ->
    erlang:function_exported(maps, iterator, 2)
        andalso lists:member({Function, Arity}, [{to_list, 1}, {keys, 1}, {values, 1}, {iterator, 1}, {fold, 3}, {foreach, 2}, {map, 2}, {filter, 2}, {filtermap, 2}]).

%% The generator of a comprehension. It raises the error for a term that is not a map.
generator(Map) when is_map(Map) -> maps:iterator(Map, ordered);
generator(Other) -> Other.

to_list(Map) -> maps:to_list(generator(Map)).
keys(Map) when is_map(Map) -> [Key || {Key, _} <- to_list(Map)];
keys(Other) -> maps:keys(Other).
values(Map) when is_map(Map) -> [Value || {_, Value} <- to_list(Map)];
values(Other) -> maps:values(Other).
iterator(Map) when is_map(Map) -> generator(Map);
iterator(Other) -> maps:iterator(Other).
fold(Fun, Start, Map) -> maps:fold(Fun, Start, generator(Map)).
foreach(Fun, Map) -> maps:foreach(Fun, generator(Map)).
map(Fun, Map) -> maps:map(Fun, generator(Map)).
filter(Fun, Map) -> maps:filter(Fun, generator(Map)).
filtermap(Fun, Map) -> maps:filtermap(Fun, generator(Map)).
