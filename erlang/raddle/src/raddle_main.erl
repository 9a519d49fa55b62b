%% The entry point of the command line. The arguments after -extra are MODULE:FUNCTION [--pa DIR | --node NAME
%% | --fail-on WHAT | --allow NAME | --virtual-time MS | --faults SPEC]..; requests arrive on the socket that
%% replaces the standard input and are answered there, in the protocol of crates/raddle-model/src/native.rs. A
%% message is four bytes with the length, most significant first, and JSON.
-module(raddle_main).
-export([main/0]).

%% One process listens; another executes the runs and answers. The VM is killed when the connection closes, even
%% if no process can run (crates/raddle-beam/src/connection.rs).
main() ->
    ok = raddle_nif:end_with_input(),
    spawn(fun() ->
              %% A connection that is reset closes the port with an exit signal.
              process_flag(trap_exit, true),
              Port = open_port({fd, 0, 0}, [{packet, 4}, binary]),
              {Maker, _} = spawn_monitor(fun() -> make(Port, init:get_plain_arguments()) end),
              listen(Port, Maker)
          end).

listen(Port, Maker) ->
    receive
        {Port, {data, Order}} -> Maker ! {request, Order};
        {'DOWN', _, process, Maker, Why} ->
            %% Later requests would not be answered. If the answer cannot be read any more, the reason is in
            %% the output of the VM.
            catch port_command(Port, said(refused, broken(Why))),
            io:put_chars(standard_error, broken(Why)),
            erlang:halt(1, [{flush, erlang:port_info(Port) =/= undefined}])
    end,
    listen(Port, Maker).

broken(Why) -> ["internal error: the process that executes the runs has ended: ", text(Why)].

said(How, Why) -> json(#{How => #{message => text(Why)}}).

%% ---- the runs

make(Port, [Test | Locations]) ->
    ok = raddle_modules:prepare(),
    [code:add_patha(Path) || {"--pa", Path} <- pairs(Locations)],
    Words = [unicode:characters_to_binary(Word) || Word <- Locations],
    Allow = try raddle:allow(Words)
            catch error:{raddle_error, Wrong} -> port_command(Port, said(refused, Wrong)), next(), []
            end,
    [Module, Function] = string:split(Test, ":"),
    case raddle:known(Program = {list_to_atom(Module), list_to_atom(Function)}) of
        true -> port_command(Port, json(#{ready => #{fibers => true}}));
        Why -> port_command(Port, said(refused, Why))
    end,
    {ok, Requests, Seed, Wall} = case raddle_nif:open_requests(next()) of
                                 {error, Error} -> refuse(Port, Error);
                                 Opened -> Opened
                             end,
    Options = #{test => raddle:prepare(Program), nodes => raddle:nodes_of(Words, ['test@raddle']), wall => Wall,
                fail_on => raddle:fail_on(Words), allow => Allow, virtual_time => raddle:virtual_time(Words), faults => raddle:faults(Words)},
    serve(Port, Requests, Seed, Options).

%% Reports that the request cannot be fulfilled.
refuse(Port, Why) ->
    _ = next(),
    port_command(Port, said(refused, Why)),
    refuse(Port, Why).

next() -> receive {request, Text} -> Text end.

%% Pending requests wait in the mailbox; a run takes only its own messages.
serve(Port, Requests, Seed, Options) ->
    Answer = case raddle_nif:read_request(Requests, next()) of
                 {error, Why} -> said(refused, Why);
                 {Session, Run, Trace} ->
                     Look = fun(_, Table, Result) -> answer(Session, {Seed, Run}, Table, Result, Trace) end,
                     case raddle_run:run(Session, {Seed, Run}, Options#{callers => Trace =:= callers}, Look) of
                         exhausted -> json(<<"exhausted">>);
                         Result -> Result
                     end
             end,
    port_command(Port, Answer),
    serve(Port, Requests, Seed, Options).

answer(Session, Number, Table, #{verdict := Verdict, steps := _}, Trace) ->
    Wanted = case Verdict of {failed, _, _, _, _} -> Trace =/= none; _ -> Trace =:= any orelse Trace =:= callers end,
    case Wanted of
        true -> raddle_nif:answer(Session, Number, raddle_run:names(Session, Table), raddle_io:printed(Session), raddle_callers:known(Table));
        false -> raddle_nif:answer(Session, Number, nil, <<>>, [])
    end;
answer(_, _, _, Result, _) -> said(lost, raddle_report:result(Result)).

pairs([Option, Value | Rest]) -> [{Option, Value} | pairs(Rest)];
pairs([]) -> [].

%% ---- JSON

text(Text) ->
    try unicode:characters_to_binary(Text) of
        Binary when is_binary(Binary) -> Binary;
        _ -> unicode:characters_to_binary(io_lib:format("~0tp", [Text]))
    catch
        _:_ -> unicode:characters_to_binary(io_lib:format("~0tp", [Text]))
    end.

json(Map) when is_map(Map) ->
    [${, lists:join($,, [[json(atom(Key)), $:, json(Value)] || {Key, Value} <- maps:to_list(Map)]), $}];
json(Word) when Word =:= true; Word =:= false -> atom_to_list(Word);
json(Text) when is_binary(Text) -> [$", [escaped(Char) || Char <- unicode:characters_to_list(Text)], $"].

atom(Key) when is_atom(Key) -> atom_to_binary(Key);
atom(Key) -> Key.

escaped($") -> "\\\"";
escaped($\\) -> "\\\\";
escaped(Char) when Char < 32 -> io_lib:format("\\u~4.16.0b", [Char]);
escaped(Char) -> unicode:characters_to_binary([Char]).
