defmodule Race do
  @moduledoc "Programs with races between processes of Elixir, and the same without them."

  # Both have to see what the other has written.
  def lost do
    {:ok, agent} = Agent.start_link(fn -> 0 end)

    twice(fn ->
      n = Agent.get(agent, & &1)
      Agent.update(agent, fn _ -> n + 1 end)
    end)

    2 = Agent.get(agent, & &1)
  end

  def kept do
    {:ok, agent} = Agent.start_link(fn -> 0 end)
    twice(fn -> Agent.update(agent, &(&1 + 1)) end)
    2 = Agent.get(agent, & &1)
  end

  defp twice(fun), do: [1, 2] |> Enum.map(fn _ -> Task.async(fun) end) |> Task.await_many()

  # A look and then a start, in place of a start that may find another.
  def registered do
    {:ok, _} = Registry.start_link(keys: :unique, name: Names)

    twice(fn ->
      case Registry.lookup(Names, :counter) do
        [] -> {:ok, _} = Agent.start(fn -> 0 end, name: {:via, Registry, {Names, :counter}})
        [{pid, _}] -> {:ok, pid}
      end
    end)
  end

  def registered_once do
    {:ok, _} = Registry.start_link(keys: :unique, name: Names)

    [{pid}, {pid}] =
      twice(fn ->
        case Agent.start(fn -> 0 end, name: {:via, Registry, {Names, :counter}}) do
          {:ok, pid} -> {pid}
          {:error, {:already_started, pid}} -> {pid}
        end
      end)
  end

  # The quick one has no answer in time if the slow one was there before.
  def late, do: await(5_000)
  def in_time, do: await(7_000)

  defp await(time) do
    {:ok, server} = Agent.start_link(fn -> 0 end)
    slow = Task.async(fn -> Agent.update(server, &later/1, :infinity) end)
    quick = Task.async(fn -> Agent.get(server, & &1, :infinity) end)
    Task.await(quick, time)
    Task.await(slow, :infinity)
  end

  defp later(n) do
    Process.sleep(6_000)
    n + 1
  end

  def waits do
    server = self()

    receive do
      {:reply, ^server, _} -> :ok
    end
  end

  def opens, do: :erlang.open_port({:spawn, "ls"}, [])

  # Supervisors of all kinds, protocols and structs.
  defmodule Point do
    defstruct x: 0, y: 0

    defimpl String.Chars do
      def to_string(point), do: "(#{point.x}, #{point.y})"
    end
  end

  def others do
    {:ok, top} =
      Supervisor.start_link(
        [
          {DynamicSupervisor, name: Dynamic, strategy: :one_for_one},
          {Task.Supervisor, name: Tasks},
          {Agent, fn -> %Point{x: 1} end}
        ],
        strategy: :one_for_all
      )

    3 = length(Supervisor.which_children(top))
    {:ok, child} = DynamicSupervisor.start_child(Dynamic, {Agent, fn -> MapSet.new([1, 2]) end})
    "(7, 0)" = Task.Supervisor.async_nolink(Tasks, fn -> "#{%Point{x: 7}}" end) |> Task.await()
    [2, 4] = child |> Agent.get(& &1) |> Stream.map(&(&1 * 2)) |> Enum.sort()
    reference = Process.monitor(child)
    :ok = Supervisor.stop(top)

    receive do
      {:DOWN, ^reference, _, _, :shutdown} -> :ok
    end

    [a: 1, b: 2] = Enum.zip([:a, :b], 1..2)
    "%Race.Point{x: 1, y: 2}" = inspect(%Point{x: 1, y: 2})
    [ok: 1, ok: 4] = Task.async_stream([1, 2], &(&1 * &1)) |> Enum.to_list()
  end
end
