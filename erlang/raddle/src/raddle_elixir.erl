%% Programs in Elixir. Their modules are modules like all others, with debug information that Elixir itself
%% converts into abstract forms; this module finds Elixir and formats names in its syntax.
-module(raddle_elixir).
-export([ensure/1, folders/0, applications/0, is_name/1, module/1, function/3, read/1, variables/2]).

%% Ensures that Elixir's own modules are in the code path before an Elixir module is loaded.
ensure(Module) ->
    is_name(Module)
        andalso persistent_term:get(raddle_elixir, unknown) =:= unknown
        andalso persistent_term:put(raddle_elixir, is_found() orelse find()),
    ok.

is_found() -> code:where_is_file("elixir.app") =/= non_existing.

%% Finds the modules next to the program `elixir`, where most installations have them; otherwise asks the
%% program. Returns whether they are there.
find() ->
    case os:find_executable("elixir") of
        false -> false;
        Program ->
            Libraries = filename:join(filename:dirname(filename:dirname(followed(Program, 16))), "lib"),
            add(Libraries) orelse add(filename:dirname(os:cmd("elixir -e ':io.put_chars(:code.lib_dir(:elixir))'")))
    end.

add(Libraries) ->
    code:add_pathsz(filelib:wildcard(filename:join([Libraries, "*", "ebin"]))),
    is_found().

followed(Path, 0) -> Path;
followed(Path, Left) ->
    case file:read_link(Path) of
        {ok, Target} -> followed(filename:absname(Target, filename:dirname(Path)), Left - 1);
        {error, _} -> Path
    end.

%% The folders of Elixir's libraries, as far as they were found.
folders() ->
    case code:which(elixir) of
        File when is_list(File) -> [filename:dirname(filename:dirname(filename:dirname(File)))];
        _ -> []
    end.

%% The applications that Elixir programs expect to be started. Other applications print and log differently.
applications() ->
    case is_found() of
        true -> [elixir, logger];
        false -> []
    end.

%% ---- names

%% Returns true for an Elixir module.
is_name(Module) -> lists:prefix("Elixir.", atom_to_list(Module)).

%% Returns the text of a module, in the syntax of its language.
module(Module) ->
    case atom_to_list(Module) of
        "Elixir." ++ Name -> Name;
        Name -> Name
    end.

%% Returns the text of a function.
function(Module, Function, Arity) ->
    case atom_to_list(Module) of
        "Elixir." ++ Name -> io_lib:format("~ts.~ts/~w", [Name, Function, Arity]);
        _ -> io_lib:format("~tw:~tw/~w", [Module, Function, Arity])
    end.

%% Parses a text such as `Agent` or `Agent.get/2`: {Module, all}, {Module, Function, Arity} or none.
read(Text) ->
    case re:run(Text, "^(?:Elixir\\.)?([A-Z]\\w*(?:\\.[A-Z]\\w*)*)(?:\\.([^./:]+)/([0-9]+))?$", [unicode, {capture, all_but_first, list}]) of
        {match, [Name]} -> {atom(Name), all};
        {match, [Name, Function, Arity]} -> {atom(Name), [{list_to_atom(Function), list_to_integer(Arity)}]};
        nomatch -> none
    end.

atom(Name) -> list_to_atom("Elixir." ++ Name).

%% Elixir variables have numbers in the abstract forms. The text of a pattern has them as in the source.
variables(Text, File) ->
    case filename:extension(File) of
        Known when Known =:= ".ex"; Known =:= ".exs" -> re:replace(Text, "\\b_(\\w+)@[0-9]+\\b", "\\g{1}", [global, unicode, {return, list}]);
        _ -> Text
    end.
