%% placeholder
-module(raddle_main).
-export([]).
