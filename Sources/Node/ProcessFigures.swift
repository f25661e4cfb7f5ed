import SystemCalls
import Telemetry

/// The figures of the process, under the names that Prometheus' clients give them. All are asked for when they are read.
enum ProcessFigures {
    static func add(to metrics: MetricsRegistry) {
        metrics.counter("process_cpu_seconds_total", "CPU time of the process, in user and kernel mode.") {
            ProcessStatus.own?.cpuSeconds ?? 0
        }
        metrics.gauge("process_threads", "Threads of the process.") { Double(ProcessStatus.own?.threads ?? 0) }
        metrics.gauge("process_virtual_memory_bytes", "Address space of the process.") {
            Double(ProcessStatus.own?.virtualBytes ?? 0)
        }
        metrics.gauge("process_virtual_memory_max_bytes", "The most address space that the process may have.") {
            ProcessStatus.virtualBytesMax ?? 0
        }
        metrics.gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.") {
            Double(ProcessStatus.own?.residentBytes ?? 0)
        }
        metrics.gauge("process_open_fds", "Open descriptors of the process.") {
            Double(ProcessStatus.openDescriptors ?? 0)
        }
        metrics.gauge("process_max_fds", "The most descriptors that the process may have open.") {
            ProcessStatus.descriptorsMax ?? 0
        }
        let start = (ProcessStatus.bootTimeSeconds ?? 0) + (ProcessStatus.own?.startedAfterBootSeconds ?? 0)
        metrics.gauge("process_start_time_seconds", "When the process was started, in Unix seconds.") { start }
    }
}
