%% The controlled modules, and their names. A module m is instrumented when it is first called and loaded as
%% '~m', next to the module of the host. Instrumented code is cached in files, named after the content of
%% everything it depends on.
-module(raddle_modules).
-export([prepare/0, renew/0, sort/1, name/1, original/1, is_ours/1, is_library/1, load/1, load_host/1, location/1]).

%% Returns builtin, ets, library (has replacements in raddle_library), native (runs unmodified), refused
%% (unless allowed), or {controlled, Name}.
sort(Module) ->
    case persistent_term:get({raddle_sort, Module}, none) of
        none ->
            Sort = find_sort(Module),
            persistent_term:put({raddle_sort, Module}, Sort),
            Sort;
        Sort -> Sort
    end.

find_sort(erlang) -> builtin;
find_sort(ets) -> ets;
find_sort(Module) ->
    Library = raddle_library:modules(),
    Known = fun(Modules) -> lists:member(Module, Modules) end,
    case Known(Library) of
        true -> library;
        false ->
            case Known(native()) orelse original(Module) =/= Module orelse is_ours(Module) of
                true -> native;
                false -> case Known(refused()) of true -> refused; false -> {controlled, name(Module)} end
            end
    end.

%% Modules that only compute, without observable effects.
native() ->
    [array, base64, binary, dict, erl_anno, erl_features, erl_internal, erl_lint, erl_parse, erl_pp, erl_scan, gb_sets, gb_trees, io_lib, io_lib_format, io_lib_fread, io_lib_pretty, lists, maps, math,
     orddict, ordsets, proplists, queue, re, sets, string, unicode, unicode_util, uri_string, zlib].

%% Low-level modules of the system without a replacement.
refused() ->
    [auth, beam_lib, code_server, erl_boot_server, erl_ddll, erl_distribution, erl_epmd,
     erl_reply, erl_tracer, erts_code_purger, erts_debug, erts_dirty_process_signal_handler, erts_internal,
     erts_literal_area_collector, erts_trace_cleaner, file_io_server, file_server, gen_sctp, gen_tcp, gen_udp,
     heart, inet_db, inet_epmd_dist, inet_epmd_socket, inet_res, kernel, net, prim_buffer, prim_inet,
     prim_net, prim_socket, prim_tty, prim_zip, seq_trace, socket, socket_registry, ssl, trace, user, user_drv,
     wrap_log_reader].

name(Module) -> list_to_atom([$~ | atom_to_list(Module)]).

original(Module) ->
    case atom_to_list(Module) of
        [$~ | Name] -> list_to_atom(Name);
        _ -> Module
    end.

%% Returns true for a module of the runtime itself.
is_ours(Module) -> lists:member(Module, ours()).

%% Returns true for a module of the VM or of Elixir: kernel, stdlib and so on.
is_library(Module) ->
    case persistent_term:get({raddle_library, Module}, unknown) of
        unknown ->
            Known = case code:which(Module) of
                        File when is_list(File) -> lists:any(fun(Folder) -> lists:prefix(Folder, File) end, [code:lib_dir() | raddle_elixir:folders()]);
                        Other -> Other =:= preloaded
                    end,
            persistent_term:put({raddle_library, Module}, Known),
            Known;
        Known -> Known
    end.

%% Loads the runtime. A controlled process cannot do that: its error handler is part of it.
prepare() ->
    case persistent_term:get(raddle_prepared, false) of
        true -> ok;
        false ->
            ok = code:ensure_modules_loaded(ours() ++ native()),
            persistent_term:put(raddle_prepared, true)
    end.

ours() -> [raddle, raddle_allow, raddle_bif, raddle_call, raddle_callers, raddle_closure, raddle_crypto, raddle_elixir, raddle_ets, raddle_fault,
                          raddle_faults, raddle_file, raddle_forms, raddle_handler, raddle_info, raddle_io, raddle_library, raddle_line, raddle_log, raddle_mailbox, raddle_main, raddle_map, raddle_modules, raddle_name,
                          raddle_nif, raddle_node, raddle_process, raddle_report, raddle_request, raddle_run, raddle_search, raddle_service,
                          raddle_signal, raddle_spawn,
                          raddle_table, raddle_time, raddle_turn, raddle_watch].

%% ---- loading

%% Ensures that the controlled module is loaded: ok, missing, or {refused, Why}. One process does that, so
%% that a module is loaded once, and without effects on the calling process.
load(Module) ->
    case erlang:module_loaded(name(Module)) of
        true -> ok;
        false ->
            case persistent_term:get(raddle_without_copy, #{}) of
                #{Module := Refused} -> Refused;
                #{} -> ask(load, Module)
            end
    end.

%% Ensures that a module of the host is loaded, if possible.
load_host(Module) -> ask(load_host, Module).

ask(What, Module) ->
    Loader = loader(),
    Reference = erlang:monitor(process, Loader),
    Loader ! {What, self(), Reference, Module},
    receive
        {Reference, Result} -> erlang:demonitor(Reference, [flush]), Result;
        {'DOWN', Reference, process, _, Reason} -> {refused, {loader, Reason}}
    end.

loader() ->
    case erlang:whereis(raddle_loader) of
        undefined ->
            Pid = spawn(fun() -> receive go -> loop() end end),
            try erlang:register(raddle_loader, Pid) of
                true -> Pid ! go, Pid
            catch
                error:badarg -> exit(Pid, kill), loader()
            end;
        Pid -> Pid
    end.

loop() ->
    receive
        {load, From, Reference, Module} ->
            Result = case erlang:module_loaded(name(Module)) of
                         true -> ok;
                         false -> try load_now(Module) catch throw:Why -> Why; _:Why:Stack -> {refused, {Why, Stack}} end
                     end,
            is_tuple(Result)
                andalso persistent_term:put(raddle_without_copy, (persistent_term:get(raddle_without_copy, #{}))#{Module => Result}),
            From ! {Reference, Result};
        {load_host, From, Reference, Module} -> From ! {Reference, code:ensure_loaded(Module)}
    end,
    loop().

load_now(Module) ->
    ok = raddle_elixir:ensure(Module),
    Beam = case code:get_object_code(Module) of
               {Module, Found, _} -> Found;
               error -> throw(missing)
           end,
    {File, Code} = instrumented(Module, Beam, 0),
    {module, _} = code:load_binary(name(Module), File, Code),
    persistent_term:put({raddle_beam, Module}, erlang:md5(Beam)),
    ok.

%% Forgets the controlled copies of modules that were recompiled, so that the latest code is tested.
renew() ->
    persistent_term:erase(raddle_without_copy),
    [forget(Ours) || {Ours, _} <- code:all_loaded(), Module <- [original(Ours)], Module =/= Ours, is_older(Module)],
    ok.

is_older(Module) ->
    case code:get_object_code(Module) of
        {Module, Beam, _} -> persistent_term:get({raddle_beam, Module}, none) =/= erlang:md5(Beam);
        error -> false
    end.

forget(Ours) ->
    code:purge(Ours),
    code:delete(Ours),
    code:purge(Ours).

%% Returns the code of the module, with location numbers that no other loaded module has.
instrumented(Module, Beam, Salt) ->
    Base = 1 + erlang:phash2({Module, Salt}, 16#fffe),
    case persistent_term:get({raddle_base, Base}, Module) of
        Module ->
            persistent_term:put({raddle_base, Base}, Module),
            cached(Module, Beam, Base);
        _ -> instrumented(Module, Beam, Salt + 1)
    end.

cached(Module, Beam, Base) ->
    %% All of it: beam_lib:md5 omits the lines, which are in reports, and the forms, which are instrumented.
    Content = erlang:md5(Beam),
    %% Everything that determines the code besides the module itself.
    Rules = [Ours:module_info(md5) || Ours <- [raddle_forms, raddle_bif, raddle_library, raddle_map, raddle_elixir, ?MODULE]],
    Key = binary:encode_hex(erlang:md5(term_to_binary({Content, Rules, Base, erlang:system_info(otp_release)}))),
    File = filename:join(directory(), atom_to_list(Module) ++ "-" ++ binary_to_list(Key) ++ ".beam"),
    case file:read_file(File) of
        {ok, Code} -> {File, Code};
        {error, _} ->
            Code = raddle_forms:instrument(Module, Beam, Base),
            keep(File, Code),
            {File, Code}
    end.

%% A cache that cannot be written is not an error. Others may write the same file at the same time.
keep(File, Code) ->
    Draft = File ++ "." ++ os:getpid(),
    _ = filelib:ensure_dir(File),
    case file:write_file(Draft, Code) of
        ok -> file:rename(Draft, File);
        {error, _} -> ok
    end.

directory() ->
    case os:getenv("RADDLE_CACHE") of
        false -> filename:join(filename:basedir(user_cache, "raddle"), "erlang");
        Given -> Given
    end.

%% ---- locations

%% Returns the text of a location, such as "gen_server.erl:123", or "receive {reply, X} at client.erl:12". A
%% text is returned unchanged.
location(Text) when is_list(Text) -> Text;
location(1) -> "the end of a process";
location(2) -> "a timer";
location(3) -> "a delivery between nodes";
location(4) -> "the start";
location(5) -> "a choice of faults";
location(6) -> "a crash";
location(7) -> "a restart";
location(8) -> "a partition";
location(9) -> "its healing";
location(10) -> "a disconnection";
location(11) -> "the time until a fault";
location(Number) ->
    Module = persistent_term:get({raddle_base, Number bsr 14}, none),
    Locations = case Module of
                 none -> [];
                 _ -> proplists:get_value(raddle_locations, (name(Module)):module_info(attributes), [])
             end,
    case lists:keyfind(Number band 16#3fff, 1, Locations) of
        {_, File, Line} -> File ++ ":" ++ integer_to_list(Line);
        {_, File, Line, Patterns} -> ["receive ", Patterns, " at ", File, ":", integer_to_list(Line)];
        false -> "?"
    end.
