// The enums of library calls (numerics/LibraryEnums.def) as attributes.
#ifndef TILEWRIGHT_DIALECT_EXEC_LIBRARYENUMS_TD
#define TILEWRIGHT_DIALECT_EXEC_LIBRARYENUMS_TD

include "tilewright/dialect/exec/ExecBase.td"

class Exec_LibraryEnum<string name, string mnemonicName, string words> : AttrDef<Exec_Dialect, name> {
  let mnemonic = mnemonicName;
  let summary = words;
  let parameters = (ins "::tilewright::numerics::" # name:$value);
  let assemblyFormat = "`<` $value `>`";
  // Accessors and builders of ops take the enum itself.
  let returnType = "::tilewright::numerics::" # name;
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::tilewright::exec::" # name # "Attr::get($_builder.getContext(), $0)";
}

def Exec_CombinerAttr : Exec_LibraryEnum<"Combiner", "combiner", "The operation of a region on two elements.">;
def Exec_ComparatorAttr : Exec_LibraryEnum<"Comparator", "comparator", "The condition under which a sort puts its first argument before the second.">;
def Exec_SelectorAttr : Exec_LibraryEnum<"Selector", "selector", "The condition under which select_and_scatter keeps its first argument.">;
def Exec_FftTypeAttr : Exec_LibraryEnum<"FftType", "fft_type", "Direction and domain of a Fourier transform.">;
def Exec_RngAlgorithmAttr : Exec_LibraryEnum<"RngAlgorithm", "rng_algorithm", "A generator of random bits.">;
def Exec_RngDistributionAttr : Exec_LibraryEnum<"RngDistribution", "rng_distribution", "A distribution of random numbers.">;
def Exec_TransposeAttr : Exec_LibraryEnum<"Transpose", "transpose", "The form in which a matrix is used.">;
def Exec_PrecisionAttr : Exec_LibraryEnum<"Precision", "precision", "The least precision of a product.">;
def Exec_RankKindAttr : Exec_LibraryEnum<"RankKind", "rank_kind", "A number of a device: of its replica or of its partition.">;
def Exec_LapackRoutineAttr : Exec_LibraryEnum<"LapackRoutine", "lapack_routine", "A routine of LAPACK.">;

#endif // TILEWRIGHT_DIALECT_EXEC_LIBRARYENUMS_TD
