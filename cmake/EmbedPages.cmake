# cmake -DPAGES=docs/errors/E*.md -DOUTPUT=ErrorPages.inc -P EmbedPages.cmake
#
# Writes each file that matches, such as E1234.md, as a row of C++: {"E1234", R"page(…)page"},
file(GLOB pages "${PAGES}")
list(SORT pages)
set(rows "")
foreach(page IN LISTS pages)
  get_filename_component(name "${page}" NAME_WE)
  file(READ "${page}" text)
  string(APPEND rows "{\"${name}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${rows}")
