%% Maps in an order that is the same in all VMs. Since OTP 26 the host's depends on which atoms it has met and when, even for a few keys; so whatever
%% goes through a map in a controlled module does that in the order of keys. Older releases have it so for up to 32 keys, and are left alone.
-module(raddle_map).
-export([is_ordered/2, generator/1, to_list/1, keys/1, values/1, iterator/1, fold/3, foreach/2, map/2, filter/2, filtermap/2]).

%% Whether a function of maps has one of ours in its place.
is_ordered(Function, Arity) ->
    erlang:function_exported(maps, iterator, 2)
        andalso lists:member({Function, Arity}, [{to_list, 1}, {keys, 1}, {values, 1}, {iterator, 1}, {fold, 3}, {foreach, 2}, {map, 2}, {filter, 2}, {filtermap, 2}]).

%% What a comprehension goes through. It complains itself of what is no map.
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
