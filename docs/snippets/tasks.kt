// A tool called as a task: the client follows its status, then gets the result.
package tasks

import dev.trunkline.Client
import dev.trunkline.TaskSupport
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.last
import kotlinx.serialization.Serializable
import kotlin.time.Duration.Companion.milliseconds

@Serializable
class Report(val year: Int)

suspend fun main() {
    val reports =
        server("reports", "1.0.0", options = { taskPollInterval = 50.milliseconds }) {
            tool<Report>("report", "Write the report of a year.", { task = TaskSupport.OPTIONAL }) { report ->
                setTaskMessage("half of it is written")
                delay(100)
                "The report of ${report.year}"
            }
        }

    Client.connect(reports).use { client ->
        client.startTask("report", jsonObjectOf("year" to 2026)).use { task ->
            println(task.states.last().status) // with `statusMessage`, for people
            println(task.result().text)
        }
    }
}
