%% The module crypto: random values depend on the requesting process and the number of its requests, so they
%% are the same in all runs, and in those that replay or minimize a failing one. The rest is native.
-module(raddle_crypto).
-export([call/3]).
-include("raddle_run.hrl").

call(strong_rand_bytes, [Count], _) when is_integer(Count), Count >= 0 -> bytes(Count);
call(rand_uniform, [From, To], _) when is_integer(From), is_integer(To), From < To ->
    %% Enough additional bits that the distribution is almost uniform.
    Bytes = bytes(byte_size(binary:encode_unsigned(To - From)) + 8),
    From + binary:decode_unsigned(Bytes) rem (To - From);
call(F, [], _) when F =:= rand_seed; F =:= rand_seed_s -> generator(F);
call(rand_seed, [_], _) -> generator(rand_seed), ok;
call(rand_seed_alg, [_], _) -> generator(rand_seed);
call(rand_seed_alg_s, [_], _) -> generator(rand_seed_s);
call(F, [], _) when F =:= start; F =:= stop -> ok;
call(F, A, Location) -> raddle_allow:call(crypto, F, A, Location).

%% The generators of crypto are replaced by one of rand.
generator(rand_seed) -> '~rand':seed(exsss, seed());
generator(rand_seed_s) -> '~rand':seed_s(exsss, seed()).

seed() ->
    <<A:32, B:32, C:32>> = bytes(12),
    {A, B, C}.

bytes(Count) ->
    #me{session = Session, actor = Actor} = raddle_turn:me(),
    Number = case erlang:get('$raddle_random') of undefined -> 0; Last -> Last + 1 end,
    erlang:put('$raddle_random', Number),
    Name = raddle_nif:actor_name(Session, Actor),
    Blocks = << <<(erlang:md5(<<Name:64, Number:64, Block:64>>))/binary>> || Block <- lists:seq(0, Count div 16) >>,
    binary:part(Blocks, 0, Count).
