%% Functions that run unmodified though they cannot be controlled: they are native, or at the bottom of OTP.
%% Those here depend only on their arguments; a user may allow others by name (option allow, --allow). All
%% others end the run without a verdict.
-module(raddle_allow).
-export([call/4, without_copy/4, read/1, write/1, remedy/1, otherwise/1]).
-include("raddle_run.hrl").

%% Handles a call of a function without a replacement.
call(Module, Function, Arguments, Location) ->
    case is_allowed(Module, Function, length(Arguments)) of
        true -> run(Module, Function, Arguments);
        false -> raddle_turn:refuse({Module, Function, length(Arguments)}, Arguments, Location)
    end.

%% Handles a call of a function whose module has no controlled copy. The caller was unknown during
%% instrumentation, so it comes from the stack.
without_copy(Module, Function, Arguments, Why) ->
    case is_allowed(Module, Function, length(Arguments)) of
        true -> run(Module, Function, Arguments);
        false -> raddle_turn:refuse({Module, Function, length(Arguments)}, {module, Why}, raddle_report:caller())
    end.

run(Module, Function, Arguments) ->
    erlang:module_loaded(Module) orelse raddle_modules:load_host(Module),
    erlang:apply(Module, Function, Arguments).

is_allowed(Module, Function, Arity) ->
    Known = fun(Rules) ->
                lists:any(fun({M, Functions}) -> M =:= Module andalso (Functions =:= all orelse lists:member({Function, Arity}, Functions)) end, Rules)
            end,
    Known(pure()) orelse Known(raddle_table:find((raddle_turn:me())#me.table, allow, [])).

%% Functions that depend only on their arguments. Functions with state that processes could share, such as
%% crypto:crypto_update/2, are not in the list.
pure() ->
    [{crypto, [{bytes_to_integer, 1}, {cipher_info, 1}, {compute_key, 4}, {crypto_one_time, 4}, {crypto_one_time, 5}, {crypto_one_time_aead, 6},
               {crypto_one_time_aead, 7}, {ec_curve, 1}, {ec_curves, 0}, {exor, 2}, {hash, 2}, {hash_equals, 2}, {hash_final, 1}, {hash_final_xof, 2}, {hash_info, 1},
               {hash_init, 1}, {hash_update, 2}, {hash_xof, 3}, {info_fips, 0}, {info_lib, 0}, {mac, 3}, {mac, 4}, {macN, 4}, {macN, 5}, {mod_pow, 3},
               {pbkdf2_hmac, 5}, {private_decrypt, 4}, {privkey_to_pubkey, 2}, {public_decrypt, 4}, {supports, 0}, {supports, 1}, {verify, 5},
               {verify, 6}, {version, 0}]},
     {asn1rt_nif, [{decode_ber_tlv, 1}, {encode_ber_tlv, 1}]},
     {erts_debug, [{flat_size, 1}, {same, 2}, {size, 1}]}].

%% Functions that cannot be allowed: they send messages to a process of the host, or change others.
never() ->
    [erlang, ets, file, gen_sctp, gen_tcp, gen_udp, inet, prim_inet, prim_socket, socket, ssl].

%% ---- the names

%% Parses the rules of a user: a module, {Module, Function, Arity}, or the text of one of them.
read(Names) -> [rule(Name) || Name <- Names].

rule(Name) ->
    {Module, _} = Rule = named(Name),
    lists:member(Module, never()) andalso wrong(Name, ": it cannot run unmodified, because it communicates with processes of the host"),
    Rule.

named(Module) when is_atom(Module) -> {Module, all};
named({Module, Function, Arity}) when is_atom(Module), is_atom(Function), is_integer(Arity) -> {Module, [{Function, Arity}]};
named(Text) when is_list(Text); is_binary(Text) ->
    %% A name that begins like an Elixir module and ends like a function has no arity.
    Parts = re:run(Text, "^(?![A-Z][\\w.]*\\.[a-z_])([^:/]+)(?::(.+)/([0-9]+))?$", [unicode, {capture, all_but_first, list}]),
    case {raddle_elixir:read(Text), Parts} of
        {none, {match, [Module]}} -> {list_to_atom(Module), all};
        {none, {match, [Module, Function, Arity]}} -> {list_to_atom(Module), [{list_to_atom(Function), list_to_integer(Arity)}]};
        {none, nomatch} -> unclear(Text);
        {Rule, _} -> Rule
    end;
named(Other) -> unclear(Other).

unclear(Name) -> wrong(Name, " is neither a module nor a function; expected a name such as crypto or crypto:hash/2").

-spec wrong(term(), string()) -> no_return().
wrong(Name, Why) ->
    Shown = if is_list(Name); is_binary(Name) -> Name; true -> io_lib:format("~0tp", [Name]) end,
    erlang:error({raddle_error, unicode:characters_to_list(["allow ", Shown, Why])}).

%% Returns a rule as on the command line.
write({Module, all}) -> atom_to_list(Module);
write({Module, [{Function, Arity}]}) ->
    case raddle_elixir:is_name(Module) of
        true -> lists:flatten(raddle_elixir:function(Module, Function, Arity));
        false -> lists:flatten(io_lib:format("~ts:~ts/~w", [Module, Function, Arity])) % Shell syntax, without quotes.
    end.

%% The alternative remedy for a function that can be controlled if its module is compiled differently.
otherwise({Module, Function, Arity}) ->
    io_lib:format("; if that is impossible and the function depends only on its arguments, let it run unmodified with --allow ~ts", [write({Module, [{Function, Arity}]})]).

%% The remedy for a rejected function.
remedy({Module, Function, Arity}) ->
    case lists:member(Module, never()) of
        true -> "\nhelp: replace it in the test, for example by a process that simulates the external service";
        false ->
            io_lib:format("\nhelp: if it depends only on its arguments, let it run unmodified with --allow ~ts or the option allow of raddle:test; "
                          "otherwise replace it in the test", [write({Module, [{Function, Arity}]})])
    end.
