// Table rows as resources: listed page by page and read on request.
package providers

import dev.trunkline.Category
import dev.trunkline.Client
import dev.trunkline.Provider
import dev.trunkline.ProviderPage
import dev.trunkline.TextResourceContents
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonPrimitive

val ROWS = (1..5).associate { "row $it" to "value $it" }
const val PAGE = 2

// Lists the rows, and reads one.
object Rows : Provider {
    override suspend fun list(cursor: String?): ProviderPage {
        val start = cursor?.toInt() ?: 0
        val names = ROWS.keys.drop(start).take(PAGE)
        val items = names.map { jsonObjectOf("uri" to it.replace("row ", "rows://"), "name" to it) }
        return ProviderPage(items, if (start + PAGE < ROWS.size) "${start + PAGE}" else null)
    }

    override suspend fun get(params: JsonObject): Any? = ROWS[params.getValue("uri").jsonPrimitive.content.replace("rows://", "row ")]
}

suspend fun main() {
    val table = server("table", "1.0.0") { provider(Category.RESOURCES, Rows) }

    Client.connect(table).use { client ->
        println(client.listResources().joinToString { it.name })
        println((client.readResource("rows://4").contents.first() as TextResourceContents).text)
    }
}
